import torch
from torch import Tensor

import compute_device


@torch.jit.script
def run(u: Tensor, x: Tensor) -> Tensor:
    if (u.is_cuda or u.device.type == "npu"):
        return u + x
    fast = not (x.is_cuda or x.device.type == "npu") and u.dim() > 1
    return u if fast else x


def handed(u: Tensor) -> bool:
    return (u.is_cuda or u.device.type == "npu")


handed = torch.jit.script(handed)


def plain(u: Tensor) -> bool:
    return u.device.type == compute_device.type
