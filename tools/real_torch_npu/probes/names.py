"""Which names torch_npu has, and how they are called."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import types
from typing import Any

from npuify.selftest.inside.signature_text import parameters_of

_WHOLE = ("torch_npu.npu",)
"""Packages of which every public module counts."""
_SKIPPED = ("torch_npu.profiler.", "torch_npu.testing", "torch_npu.contrib.transfer_to_npu", "torch_npu.op_plugin.")
"""Insides of the profiler, the package's own tests, what patches torch when imported, generated operator wrappers."""
_DEPTH = 3
_INHERITED_FROM = ("torch_npu", "torch.cuda", "torch.amp", "torch.accelerator", "torch.backends", "torch._C._npu")
_INHERITED_CLASSES = {("torch", "Stream"), ("torch", "Event"), ("torch._C", "Stream"), ("torch._C", "Event")}


def collect() -> dict[str, object]:
    """Names of public modules, in the specs of the release tables; ``o`` stands for an operator of the npu
    namespace."""
    import torch
    import torch_npu

    loaded = {name for name in sys.modules if name == "torch_npu" or name.startswith("torch_npu.")}
    others = sorted(name for name in _on_disk(torch_npu) if name not in loaded)
    listing = _Listing(loaded)
    # What import torch_npu leaves behind comes first: to import more of it replaces operators by their ONNX forms.
    found = {name: listing.names_of(name) for name in sorted(loaded) if _is_public(name)}
    failed: dict[str, str] = {}
    for name in others:
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever an untried module raises is the answer
            failed[name] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        else:
            found[name] = listing.names_of(name)
    return {
        "names": found,
        "exported": {name: sorted(set(getattr(sys.modules[name], "__all__", ()))) for name in sorted(found)},
        "not_imported": sorted(set(found) - loaded),
        "failed": failed,
        "torch": torch.__version__,
        "torch_npu": torch_npu.__version__,
    }


def _on_disk(package: Any) -> list[str]:
    """Modules of the package that can be imported, without importing them."""
    out = []
    waiting = [(package.__name__, list(package.__path__))]
    while waiting:
        parent, path = waiting.pop()
        for info in pkgutil.iter_modules(path):
            name = f"{parent}.{info.name}"
            if _is_public(name):
                out.append(name)
                if info.ispkg:
                    waiting.append((name, [f"{path[0]}/{info.name}"]))
    return out


def _is_public(name: str) -> bool:
    parts = name.split(".")
    if any(part.startswith("_") for part in parts) or name.startswith(_SKIPPED):
        return False
    return len(parts) <= _DEPTH or name.startswith(tuple(f"{whole}." for whole in _WHOLE))


class _Listing:
    """Gives each object one place, and every other place an alias."""

    def __init__(self, loaded: set[str]) -> None:
        self.public = {name for name in loaded if _is_public(name)}
        self.placed: dict[int, str] = {}
        self.kept: list[object] = []
        """Keeps the placed objects alive, so that no other gets their identity."""

    def names_of(self, module_name: str) -> dict[str, str]:
        """The specs of one loaded module."""
        module = sys.modules[module_name]
        exported = set(getattr(module, "__all__", ()))
        found: dict[str, str] = {}
        for name in sorted({*dir(module), *_behind(module), *exported}):
            if not _is_listed(module_name, name):
                continue
            try:
                value = getattr(module, name)
            except Exception as error:  # a name that is exported and cannot be had is worth knowing
                if name in exported:
                    found[name] = f"!{type(error).__name__}"
                continue
            found.update(self.entry(module_name, name, value, name in exported))
        return found

    def entry(self, module: str, name: str, value: Any, exported: bool) -> dict[str, str]:
        """The specs of one name; none for what merely was imported there."""
        if isinstance(value, types.ModuleType):
            if not value.__name__.startswith("torch_npu."):
                return {}
            if value.__name__ == f"{module}.{name}":
                return {name: "M"}
            return {name: f"={value.__name__}" if value.__name__ in self.public else "v"}
        if type(value).__name__ in ("OpOverloadPacket", "OpOverload"):
            return {name: "o"}
        home = getattr(value, "__module__", None)
        is_own = isinstance(home, str) and home.startswith("torch_npu")
        is_callable = inspect.isclass(value) or inspect.isroutine(value) or (callable(value) and is_own)
        if not is_callable:
            wanted = exported or (not name.startswith("_") and _is_value(module, value, home, is_own))
            return {name: "v"} if wanted else {}
        if not is_own and not exported and not _is_bound_here(module, home, name):
            return {}
        if id(value) in self.placed:
            return {name: f"={self.placed[id(value)]}"}
        original = getattr(value, "__name__", name)
        if home in self.public and home != module and getattr(sys.modules[home], original, None) is value:
            if _is_listed(home, original):
                return {name: f"={home}.{original}"}
        self.placed[id(value)] = f"{module}.{name}"
        self.kept.append(value)
        return _class_entry(name, value) if inspect.isclass(value) else {name: f"f{_bracketed(parameters_of(value))}"}


def _is_listed(module: str, name: str) -> bool:
    """Whether a name counts: private ones do where the module exports them, and in torch_npu.npu, as in torch.cuda."""
    if not name.startswith("_") or name in getattr(sys.modules[module], "__all__", ()):
        return True
    return module.startswith("torch_npu.npu") and not name.startswith("__")


def _behind(module: object) -> list[str]:
    """Names of the module that an object put in its place passes questions on to, as torch's PropModule does."""
    inner = vars(module).get("m")
    return dir(inner) if isinstance(inner, types.ModuleType) and type(module) is not types.ModuleType else []


def _is_value(module: str, value: object, home: object, is_own: bool) -> bool:
    """Whether a variable belongs to the module's face; what typing and the standard library put there does not."""
    origin = type(value).__module__
    return is_own or (origin.startswith(("torch_npu", "builtins", "torch")) and home is None and module.count(".") <= 1)


def _is_bound_here(module: str, home: object, name: str) -> bool:
    """Functions made in C++ say nothing, or something odd, of where they are from."""
    if home is None or home == "builtins":
        return module in ("torch_npu", "torch_npu.npu") and not hasattr(__builtins__, name)
    return isinstance(home, str) and home.startswith("torch._C._npu")


def _bracketed(parameters: str | None) -> str:
    return "" if parameters is None else f"({parameters})"


def _class_entry(name: str, cls: type) -> dict[str, str]:
    found = {name: f"c{_bracketed(parameters_of(cls))}"}
    for member in dir(cls):
        if member.startswith("_"):
            continue
        owner = next((c for c in cls.__mro__ if member in vars(c)), None)
        if owner is None or not _is_inherited_from(owner):
            continue
        value = vars(owner)[member]
        if isinstance(value, (staticmethod, classmethod)):
            found[f"{name}.{member}"] = f"m{_bracketed(parameters_of(getattr(cls, member)))}"
        elif inspect.isfunction(value):
            found[f"{name}.{member}"] = f"m{_bracketed(parameters_of(value, drop_first=True))}"
        elif inspect.isroutine(value) or type(value).__name__ == "instancemethod":
            found[f"{name}.{member}"] = f"m{_bracketed(parameters_of(value))}"
        else:
            found[f"{name}.{member}"] = "p"
    return found


def _is_inherited_from(owner: type) -> bool:
    return owner.__module__.startswith(_INHERITED_FROM) or (owner.__module__, owner.__name__) in _INHERITED_CLASSES
