"""Names that were taken from torch before the patches: ``from torch.cuda import is_available`` in a module that was
imported earlier, or in a notebook's first cell."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from npuify.run.frames import INSIDE

_CUDA = tuple(f"torch.cuda{last}" for last in ("", ".amp", ".random", ".memory", ".nvtx", ".streams"))
_OWNERS = ("torch", *_CUDA, "torch.amp", "torch.distributed", "torch.jit", "torch.profiler", "torch.fft")
_before: dict[str, dict[str, Any]] = {}


def remember() -> None:
    """Note what stands in torch's modules before anything is changed."""
    for owner in _OWNERS:
        module = sys.modules.get(owner)
        if module is not None:
            _before[owner] = {name: value for name, value in vars(module).items() if _is_replaceable(value)}


def before_transfer(name: str) -> Any:
    """What a name meant before the patches; None where it was not there."""
    owner, _, last = name.rpartition(".")
    return _before.get(owner, {}).get(last)


def _is_replaceable(value: object) -> bool:
    """Whether it is a function or class of torch's own; its modules also hold some of the standard library's."""
    # isinstance would ask the object itself, and some of torch's warn when they are asked anything.
    if not issubclass(type(value), (FunctionType, BuiltinFunctionType, type)):
        return False
    home = getattr(value, "__module__", None)
    return home is None or str(home).partition(".")[0] in INSIDE


def rename() -> int:
    """Put the new objects where modules outside of torch hold the old ones; gives how many places that were."""
    new: dict[int, tuple[Any, Any]] = {}
    for owner, names in _before.items():
        now = vars(sys.modules[owner])
        for name, old in names.items():
            current = now.get(name, old)
            if current is not old and _is_replaceable(current):
                new.setdefault(id(old), (old, current))
    changed = 0
    for full, module in list(sys.modules.items()):
        if not issubclass(type(module), ModuleType) or full.partition(".")[0] in INSIDE:
            continue
        for name, value in list(vars(module).items()):
            found = new.get(id(value))
            if found is not None and found[0] is value:
                vars(module)[name] = found[1]
                changed += 1
    return changed
