"""``x.cuda(device)`` with a device in every spelling.

``transfer_to_npu`` puts ``npu`` in the place of ``cuda`` without a change of what is passed: tensors refuse "cuda:1"
and torch.device("cuda:1"), and modules of some releases build torch.device("npu", "cuda:1") or leave the device unread.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from npuify.run.patches.devices import make


def index_of(device: Any) -> Any:
    """The number of a card, however it is spelled; None for the current one; anything else as it is.

    Raises:
        RuntimeError: a text that names no device.
    """
    if device is None or isinstance(device, int):
        return device
    if isinstance(device, (str, torch.device)):
        found = make((str.__str__(device),) if isinstance(device, str) else (device,), {})
        if found.type == "npu":
            return found.index
    return device


def apply() -> None:
    """Put the wider methods in place."""
    tensor, module = torch.Tensor.cuda, torch.nn.Module.cuda

    @functools.wraps(tensor)
    def tensor_cuda(self: Any, device: Any = None, non_blocking: Any = False, **more: Any) -> Any:
        if "async" in more:  # the name that non_blocking had before torch 0.4.1
            non_blocking = more.pop("async")
        index = index_of(device)
        given = () if index is None else (index,)
        return tensor(self, *given, non_blocking=bool(non_blocking), **more)

    @functools.wraps(module)
    def module_cuda(self: Any, device: Any = None) -> Any:
        index = index_of(device)
        if index is None:
            return module(self)
        # That of torch_npu 2.7.1 leaves its argument unread, and moves to the current card.
        with sys.modules["torch_npu"].npu.device(index):
            return module(self, index)

    torch.Tensor.cuda, torch.nn.Module.cuda = tensor_cuda, module_cuda
