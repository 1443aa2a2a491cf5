import torch
import torch_npu  # noqa: F401
from torch import Tensor


@torch.jit.script
def run(u: Tensor, x: Tensor) -> Tensor:
    if u.device.type == "npu":
        return u + x
    fast = not x.device.type == "npu" and u.dim() > 1
    return u if fast else x


def handed(u: Tensor) -> bool:
    return u.device.type == "npu"


handed = torch.jit.script(handed)


def plain(u: Tensor) -> bool:
    return u.is_npu
