"""What importing torch_npu.contrib.transfer_to_npu changes in torch."""

from __future__ import annotations

import importlib
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, find, is_simulated

_NOTHING = object()
_before: dict[str, object] = {}
_SIMULATED_OTHERWISE = (
    "torch._C.",
    "torch._dynamo.",
    "torch._inductor.",
    "torch.utils._triton.",
    "torch.utils.cpp_extension.",
    "torch.cuda.amp.grad_scaler.",
    "torch.distributed.checkpoint.filesystem.",
    "torch.distributed.ProcessGroupNCCL",
    "torch.distributed.distributed_c10d.ProcessGroupNCCL",
    "torch.profiler.ProfilerAction",
)
"""Where a simulated program needs no change: compilers, extensions, private helpers, PyTorch's own profiler."""


def transfer(names: list[str]) -> bool:
    """Remember what the names stand for, and import what changes them."""
    for name in names:
        _before[name] = _now(name)
    importlib.import_module("torch_npu.contrib.transfer_to_npu")
    return True


def _now(name: str) -> object:
    try:
        owner, _, last = name.rpartition(".")
        held = find(owner)
        # What a class itself holds; else each look-up makes a new object of a method.
        return vars(held).get(last, _NOTHING) if hasattr(held, "__dict__") and last in vars(held) else find(name)
    except (AttributeError, ImportError):
        return _NOTHING


def is_changed(name: str) -> bool:
    """Whether a name stands for something else now, by identity or by value."""
    if name not in _before:
        raise CannotAsk("importing transfer_to_npu ended the process")
    if is_simulated() and (name.startswith(_SIMULATED_OTHERWISE) or "._" in name):
        raise CannotAsk("simulated otherwise")
    before: Any = _before[name]
    after: Any = _now(name)
    if before is after:
        return False
    simple = (bool, int, float, str, bytes, tuple)
    return not (isinstance(before, simple) and type(before) is type(after) and before == after)
