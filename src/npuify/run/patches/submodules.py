"""Modules below torch.cuda that ``transfer_to_npu`` does not write over: they get the NPU's names of that spelling."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import torch

_MODULES = ("memory", "streams", "graphs", "random")


def apply() -> None:
    """Set them, and the names of torch.cuda that programs take from its inner modules."""
    npu: Any = sys.modules["torch_npu"].npu
    for last in _MODULES:
        module: Any = sys.modules.get(f"torch.cuda.{last}")
        if module is None:
            continue
        try:
            source: Any = importlib.import_module(f"torch_npu.npu.{last}")
        except ImportError:
            source = None
        for name in list(vars(module)):
            if name.startswith("_") or not callable(getattr(module, name)):
                continue
            if getattr(getattr(module, name), "__module__", "").startswith("torch.cuda"):
                # What torch.cuda has under that name, transfer_to_npu has set.
                new = getattr(torch.cuda, name, None) if hasattr(npu, name) else getattr(source, name, None)
                if new is not None:
                    setattr(module, name, new)
    if hasattr(torch.cuda, "_utils"):
        torch.cuda._utils._get_device_index = _device_index


def _device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> Any:
    """As torch.cuda._utils._get_device_index, which wants a device of CUDA.

    Raises:
        ValueError: it is no NPU, or has no number and needs one.
    """
    from npuify.run.patches.cuda_method import index_of

    found = index_of(device)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    if found is not None:
        if allow_cpu and str(found) == "cpu":
            return -1
        raise ValueError(f"Expected a cuda device, but got: {device}")
    if optional:
        return torch.cuda.current_device()
    raise ValueError(f"Expected a device with a specified index or an integer, but got: {device}")
