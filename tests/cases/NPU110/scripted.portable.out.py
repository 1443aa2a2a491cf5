import torch
from torch import Tensor

import compute_device


@torch.jit.script
def run(u: Tensor, x: Tensor) -> Tensor:
    return u.cuda() + x.cuda(0)


def plain(u: Tensor) -> Tensor:
    return u.to(compute_device.type)
