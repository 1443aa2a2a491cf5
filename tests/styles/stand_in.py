"""A torch that only has names, to ask what migrated code resolves to on a machine with CUDA and on one with NPUs."""

from __future__ import annotations

import sys
import types
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Name(types.ModuleType):
    """A name, of which every further name can be asked. Calling it says what was called."""

    def __getattr__(self, name: str) -> Name:
        if name.startswith("__"):
            raise AttributeError(name)
        child = Name(f"{self.__name__}.{name}")
        setattr(self, name, child)
        return child

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self.__name__, *(getattr(arg, "__name__", arg) for arg in args), *sorted(kwargs.items()))


def _said(value: Any) -> Any:
    return getattr(value, "__name__", value)


@contextmanager
def machine(kind: str) -> Iterator[dict[str, types.ModuleType]]:
    """Modules of a machine of a kind (``cuda`` or ``npu``), in ``sys.modules`` while the block runs."""
    torch = types.ModuleType("torch")
    modules: dict[str, types.ModuleType] = {"torch": torch}
    devices = ["cuda", *(["npu"] if kind == "npu" else []), "accelerator", "distributed", "backends", "amp", "optim"]
    for device in devices:
        setattr(torch, device, Name(f"torch.{device}"))
    torch.device = lambda *args: ("device", *args)  # type: ignore[attr-defined]
    torch.OutOfMemoryError = Name("torch.OutOfMemoryError")  # type: ignore[attr-defined]
    for path in ("cuda", "cuda.amp", "cuda.random", "cuda.memory", "cuda.streams", "distributed"):
        current: Any = torch
        for part in path.split("."):
            current = getattr(current, part)
        modules[f"torch.{path}"] = current
    if kind == "npu":
        modules["torch_npu"] = Name("torch_npu")
    hidden = [name for name in sys.modules if name.partition(".")[0] in ("torch", "torch_npu", "compute_device")]
    kept = {name: sys.modules.pop(name) for name in hidden}
    sys.modules.update(modules)
    if kind != "npu":
        sys.modules["torch_npu"] = None  # type: ignore[assignment] - importing it fails
    try:
        yield modules
    finally:
        for name in list(sys.modules):
            if name.partition(".")[0] in ("torch", "torch_npu", "compute_device"):
                del sys.modules[name]
        sys.modules.update(kept)


def values(code: str, kind: str, helper: str = "") -> dict[str, Any]:
    """What the module-level names of ``code`` that begin with ``v`` resolve to on a machine of a kind."""
    with machine(kind):
        if helper:
            module = types.ModuleType("compute_device")
            sys.modules["compute_device"] = module
            exec(compile(helper, "compute_device.py", "exec"), module.__dict__)
        space: dict[str, Any] = {}
        exec(compile(code, "program.py", "exec"), space)
        return {name: _said(value) for name, value in space.items() if name.startswith("v")}
