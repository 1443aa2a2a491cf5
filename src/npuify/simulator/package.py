"""Builds the package ``torch_npu`` in memory: the names that the release has, with what stands behind them here.

A name of the release that nothing stands behind exists too, so that ``hasattr`` says what it says there; calling it
raises :class:`npuify.simulator.NotSimulated`. A name that the release lacks is not there.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from npuify.simulator import NotSimulated, state, tables
from npuify.simulator.dispatch import registry

_BEHIND: dict[str, tuple[str, ...]] = {
    "torch_npu": ("root", "streams"),
    "torch_npu.npu": ("devices", "config", "random", "tensor_types", "graphs", "root"),
    "torch_npu.npu.memory": ("memory",),
    "torch_npu.npu.streams": ("streams",),
    "torch_npu.npu.utils": ("devices", "streams", "config"),
    "torch_npu.npu.random": ("random", "devices"),
    "torch_npu.npu.amp": ("amp",),
    "torch_npu.npu.amp.autocast_mode": ("amp",),
    "torch_npu.npu.amp.common": ("amp",),
    "torch_npu.npu.amp.grad_scaler": ("amp",),
    "torch_npu.npu.amp.sharded_grad_scaler": ("amp",),
    "torch_npu.npu.autocast_utils": ("amp",),
    "torch_npu.npu.npu_config": ("config",),
    "torch_npu.npu.backends": ("config",),
    "torch_npu.npu.deterministic": ("config",),
    "torch_npu.npu.graphs": ("graphs",),
    "torch_npu.npu.mstx": ("marks",),
    "torch_npu.profiler": ("profiler",),
    "torch_npu.distributed": ("distributed",),
    "torch_npu.distributed.distributed_c10d": ("distributed",),
    "torch_npu.optim": ("optim",),
    "torch_npu.utils": ("devices", "root"),
    "torch_npu.dynamo": ("dynamo",),
    "torch_npu.contrib": ("contrib",),
    "torch_npu.contrib.function": ("contrib",),
    "torch_npu.contrib.module": ("contrib",),
}
"""Module of torch_npu → the modules of :mod:`npuify.simulator.api` that are asked for its names, in that order."""

missing: dict[str, str] = {}
"""Names of the release that are there but not simulated → why."""


class _Module(ModuleType):
    """A module of the shim; what it lacks it says as any module does."""

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} (simulated by npuify)>"


class _Root(_Module):
    """``torch_npu``, whose operators are looked up when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and name in state.table["custom_operators"]:
            import torch

            found = getattr(torch.ops.npu, name)
            setattr(self, name, found)
            return found
        raise AttributeError(f"module 'torch_npu' has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *state.table["custom_operators"]})


class _Builder:
    def __init__(self) -> None:
        self.tables: dict[str, dict[str, str]] = state.table["npu"]
        self.lazy: set[str] = set(state.table["not_imported"])
        self.modules: dict[str, ModuleType] = {}
        self._behind: dict[str, list[ModuleType]] = {}

    def build(self, root: ModuleType) -> None:
        """Fill ``root``, which is the module torch_npu, and everything below it."""
        self.modules["torch_npu"] = root
        for name in sorted(self.tables):
            if name not in self.modules and name != "torch_npu._C":
                self.modules[name] = _Module(name)
        for name, module in self.modules.items():
            module.__path__ = []
            module.__package__ = name
            if name not in self.lazy:
                sys.modules[name] = module
            parent, _, last = name.rpartition(".")
            if parent and name not in self.lazy and self.tables.get(parent, {}).get(last) == "M":
                setattr(self.modules[parent], last, module)
        for name in self.modules:
            self._fill(name)
        self._bindings(root)

    def _bindings(self, root: ModuleType) -> None:
        """``torch_npu._C``: its table has what is below it with dots, modules as well as members of classes."""
        from npuify.simulator.api import bindings

        specs = self.tables.get("torch_npu._C", {})
        parents = {name.partition(".")[0] for name in specs if "." in name}
        inner = {name for name in parents if name.lstrip("_")[:1].islower()}
        modules = {"": _Module("torch_npu._C"), **{name: _Module(f"torch_npu._C.{name}") for name in sorted(inner)}}
        for name, module in modules.items():
            module.__path__ = []
            module.__package__ = module.__name__
            sys.modules[module.__name__] = module
            if name:
                setattr(modules[""], name, module)
        root.__dict__["_C"] = modules[""]
        for full in specs:
            place, _, last = full.rpartition(".")
            if place not in modules or full in inner or last.startswith("__"):
                continue
            behind = bindings.SUBMODULES.get(place, {}) if place else bindings.__dict__
            made = behind.get(last)
            if made is None:
                name = f"{modules[place].__name__}.{last}"
                missing[name] = "no counterpart here yet"
                made = _stand_in(name, "c" if full in parents or last.lstrip("_")[:1].isupper() else "f")
            setattr(modules[place], last, made)

    def _fill(self, name: str) -> None:
        module = self.modules[name]
        public = []
        for attribute, spec in self.tables.get(name, {}).items():
            if "." in attribute or (spec == "M" and attribute in module.__dict__):
                continue
            if f"{name}.{attribute}" in self.lazy:
                continue
            module.__dict__.setdefault(attribute, self._object(name, attribute, spec))
            if not attribute.startswith("_"):
                public.append(attribute)
        if name != "torch_npu":
            exported = state.table.get("live", {}).get("exported", {}).get(name, public)
            module.__dict__.setdefault("__all__", [one for one in exported if one in module.__dict__])

    def _object(self, module: str, attribute: str, spec: str) -> Any:
        for behind in self._modules_behind(module):
            if attribute in behind.__dict__:
                return behind.__dict__[attribute]
        if spec.startswith("="):
            home, _, last = spec[1:].rpartition(".")
            if home in self.tables and (home, last) != (module, attribute):
                return self._object(home, last, self.tables[home].get(last, "v"))
        full = f"{module}.{attribute}"
        missing[full] = "no counterpart here yet"
        return _stand_in(full, spec)

    def _modules_behind(self, module: str) -> list[ModuleType]:
        if module not in self._behind:
            found = []
            for name in _BEHIND.get(module, ()):
                try:
                    found.append(importlib.import_module(f"npuify.simulator.api.{name}"))
                except ModuleNotFoundError as error:
                    if error.name != f"npuify.simulator.api.{name}":
                        raise
            self._behind[module] = found
        return self._behind[module]


def _stand_in(full: str, spec: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSimulated(f"{full} exists in torch_npu {state.release} but is not simulated (npuify simulate)")

    last = full.rpartition(".")[2]
    if spec == "M":
        return _Module(full)
    if spec[:1] in ("c", "t"):
        return type(last, (), {"__init__": refuse, "__module__": full.rpartition(".")[0]})
    refuse.__name__ = refuse.__qualname__ = last
    return refuse


def build(root: ModuleType) -> None:
    """Start the simulated machine, and make ``root`` the package torch_npu of its release."""
    import torch

    from npuify.simulator import patches, runtime

    runtime.start()
    root.__class__ = _Root
    version = _Module("torch_npu.version")
    version.__dict__.update(__version__=f"{state.release}+simulated", cann="", git_version="simulated by npuify")
    sys.modules["torch_npu.version"] = version
    root.__dict__.update(__version__=f"{state.release}+simulated", version=version, _autoload=lambda: None)
    builder = _Builder()
    builder.build(root)
    lazy_modules.update({name: module for name, module in builder.modules.items() if name in builder.lazy})
    if state.release not in tables.release_facts()["no_launcher"]["in"]:
        runner = builder.modules.get("torch_npu.distributed.run") or _Module("torch_npu.distributed.run")
        # So that python -m finds its code.
        place = Path(__file__).parent / "api" / "npu_run.py"
        runner.__spec__ = importlib.util.spec_from_file_location(runner.__name__, place)
        sys.modules[runner.__name__] = runner
    npu = builder.modules["torch_npu.npu"]
    npu.__dict__["default_generators"] = tuple(
        state.device.default_generator(i) for i in range(state.device.device_count())
    )
    torch._register_device_module("npu", npu)
    patches.apply(root)


lazy_modules: dict[str, ModuleType] = {}
"""Modules that can be imported by name, although ``import torch_npu`` does not load them."""

__all__ = ["build", "lazy_modules", "missing", "registry"]
