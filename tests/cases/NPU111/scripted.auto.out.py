import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch import Tensor


@torch.jit.script
def run(u: Tensor, x: Tensor) -> Tensor:
    if u.is_cuda:
        return u + x
    fast = not x.is_cuda and u.dim() > 1
    return u if fast else x


def handed(u: Tensor) -> bool:
    return u.is_cuda


handed = torch.jit.script(handed)


def plain(u: Tensor) -> bool:
    return u.is_cuda
