"""What torch_npu changes in torch: by being imported, and by ``torch_npu.contrib.transfer_to_npu`` after that."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import types
from typing import Any

_MODULES_AFTER = """
import sys, torch
before = set(sys.modules)
import torch_npu
import torch_npu.contrib.transfer_to_npu
print(*sorted(n for n in set(sys.modules) - before if n == "torch" or n.startswith("torch.")), sep="\\n")
"""
_UNTOLD = {"__builtins__", "__cached__", "__loader__", "__spec__", "__file__", "__path__", "__dict__", "__weakref__"}

Places = dict[str, object]


def collect() -> dict[str, dict[str, str]]:
    """Names under ``torch`` whose object is another one afterwards, with what they are now.

    ``added NAME``, ``replaced NAME``: NAME says where the new object was defined; ``wrapped``: it calls the old one,
    and says so; ``= torch.npu.X``: it is that object; ``removed``.
    """
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    importlib.import_module("torch")
    # Modules of torch that only torch_npu loads are loaded now, to have what they held before.
    listing = subprocess.run([sys.executable, "-c", _MODULES_AFTER], capture_output=True, text=True, check=True)
    for name in listing.stdout.splitlines():
        if name.startswith("torch."):
            _import_if_possible(name)
    fresh = _places()
    importlib.import_module("torch_npu")
    imported = _places()
    importlib.import_module("torch_npu.contrib.transfer_to_npu")
    transferred = _places()
    names = _npu_names()
    return {
        "by_import": _differences(fresh, imported, {}),
        "by_transfer_to_npu": _differences(imported, transferred, names),
    }


def _import_if_possible(name: str) -> None:
    try:
        importlib.import_module(name)
    except Exception:  # a module that needs torch_npu's own registrations first cannot be looked at before
        sys.modules.pop(name, None)


def _places() -> Places:
    """Every attribute of torch's loaded modules and of the classes that they define."""
    found: Places = {}
    for module_name, module in list(sys.modules.items()):
        if (module_name != "torch" and not module_name.startswith("torch.")) or not isinstance(
            module, types.ModuleType
        ):
            continue
        for name, value in list(vars(module).items()):
            if name in _UNTOLD or isinstance(value, types.ModuleType):
                continue
            found[f"{module_name}.{name}"] = value
            if (
                isinstance(value, type)
                and value.__module__.startswith("torch")
                and not value.__module__.startswith("torch_npu")
            ):
                place = f"{value.__module__}.{value.__qualname__}"
                found.update({f"{place}.{key}": item for key, item in vars(value).items() if key not in _UNTOLD})
    return found


def _npu_names() -> dict[int, str]:
    import torch

    module: Any = torch.npu  # type: ignore[attr-defined]
    return {
        id(value): f"torch.npu.{name}" for name, value in vars(module).items() if not isinstance(value, (bool, int))
    }


def _differences(before: Places, after: Places, names: dict[int, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, value in after.items():
        if place in before:
            if before[place] is value or _is_same_value(before[place], value):
                continue
            if id(value) in names:
                found[place] = f"= {names[id(value)]}"
            elif getattr(value, "__wrapped__", None) is before[place]:
                found[place] = "wrapped"
            else:
                found[place] = f"replaced {_home(value)}"
        elif not _home(value).startswith("torch._ops."):  # operators, which the schemas tell of
            found[place] = f"added {_home(value)}"
    found.update({place: "removed" for place in before if place not in after})
    return {place: how for place, how in sorted(found.items()) if _is_told(place, found, before, after)}


def _is_told(place: str, found: dict[str, str], before: Places, after: Places) -> bool:
    """Not the members of a class that itself is new, gone or another one, and not the names of a module that was not
    there before."""
    owner = place.rpartition(".")[0]
    if isinstance(before.get(owner), type) or isinstance(after.get(owner), type):
        return owner not in found and owner in before and owner in after
    return owner == "torch" or any(other.startswith(owner + ".") for other in before)


def _is_same_value(old: object, new: object) -> bool:
    """Numbers, texts and the like are compared by value; what torch computes anew each time is no change."""
    simple = (bool, int, float, str, bytes, tuple, type(None))
    return isinstance(old, simple) and isinstance(new, simple) and type(old) is type(new) and old == new


def _home(value: Any) -> str:
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    name = getattr(value, "__qualname__", None)
    module = getattr(value, "__module__", None)
    if isinstance(name, str):
        return f"{module}.{name}" if isinstance(module, str) else name
    return f"a {type(value).__name__}"
