"""Storages: ``is_cuda`` of untyped ones, and ``cuda()`` of both kinds, which ``transfer_to_npu`` leaves alone."""

from __future__ import annotations

import sys
from typing import Any

import torch

from npuify.run.frames import asking, wants_cuda
from npuify.run.patches.cuda_method import index_of


def apply() -> None:
    """Put both in place."""

    def is_cuda(self: Any) -> bool:
        # torch's own code, which shares storages between processes, must not take the way of CUDA.
        return bool(self.device.type == "npu") and wants_cuda(asking(sys._getframe(1)))

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        index = index_of(device)
        return self.npu(non_blocking=non_blocking) if index is None else self.npu(index, non_blocking=non_blocking)

    for kind in (torch.UntypedStorage, torch.storage.TypedStorage):
        if hasattr(kind, "npu"):
            kind.cuda = cuda
        kind.is_cuda = property(is_cuda)
