"""For the trace: wraps what the patches put in place, so that each place that uses it is recorded."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from npuify.run import record
from npuify.run.device_text import npu_text
from npuify.run.frames import INSIDE
from npuify.run.patches import applied

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_MODULES = ("torch.cuda", "torch.cuda.amp", "torch.cuda.random", "torch.cuda.memory", "torch.cuda.streams")
_DEVICES = (
    "torch.Tensor.to",
    "torch.nn.Module.to",
    "torch.nn.Module.to_empty",
    "torch.load",
    "torch.set_default_device",
)
_GROUPS = ("torch.distributed.init_process_group", "torch.distributed.new_group")
_METHODS = {"torch.Tensor.cuda": "torch.Tensor.npu", "torch.nn.Module.cuda": "torch.nn.Module.npu"}
_PATCH_OF = {
    "torch.cuda.get_device_capability": "capability",
    "torch.cuda.get_device_properties": "capability",
}


def watch() -> None:
    """Wrap them all."""
    before = {
        name: {one for one in dir(sys.modules[name]) if one[:1] != "_"} for name in _MODULES if name in sys.modules
    }
    for name, public in before.items():
        _watch_module(name, public)
    for name, became in _METHODS.items():
        _replace(name, functools.partial(_method, name, became))
    for name in (*_DEVICES, *_GROUPS, *_factories()):
        _replace(name, functools.partial(_device_taking, name))
    autocast: Any = torch.autocast
    if isinstance(autocast, type):
        autocast.__init__ = _device_taking("torch.autocast", autocast.__init__, of_class=True)  # type: ignore[misc]
    _watch_property(torch.Tensor, "is_cuda", "torch.Tensor.is_cuda", "torch.Tensor.is_npu")


def _factories() -> list[str]:
    """Functions of torch, and methods of tensors, that make a tensor on a device, as far as they were wrapped."""
    names = "empty zeros ones full rand randn randint randperm arange linspace logspace eye tensor as_tensor"
    likes = "empty_like zeros_like ones_like full_like rand_like randn_like randint_like Generator"
    new = "new_empty new_full new_ones new_tensor new_zeros"
    return [
        *(f"torch.{name}" for name in f"{names} {likes}".split() if isinstance(getattr(torch, name), _FUNCTIONS)),
        *(f"torch.Tensor.{name}" for name in new.split()),
    ]


_FUNCTIONS = (FunctionType, BuiltinFunctionType)


def _owner(name: str) -> tuple[Any, str]:
    owner: Any = torch
    *path, last = name.split(".")[1:]
    for part in path:
        owner = getattr(owner, part, None)
    return owner, last


def _replace(name: str, wrapper: Callable[[Any], Any]) -> None:
    owner, last = _owner(name)
    function = getattr(owner, last, None)
    if callable(function):
        setattr(owner, last, wrapper(function))


def _method(name: str, became: str, function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        frame = record.caller(sys._getframe(1))
        if frame is not None and not record.is_known(frame, name):
            text = arguments(args[1:], kwargs)
            record.call(frame, name, text, f"{became}{npu_text(text)}", record.EXACT)
        return function(*args, **kwargs)

    return call


def _device_taking(name: str, function: Any, of_class: bool = False) -> Any:
    """Recorded only where CUDA is among what it is given; of a class, its ``__init__``."""
    skipped = 1 if of_class else 0

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        if any(_says_cuda(value) for value in args) or any(_says_cuda(value) for value in kwargs.values()):
            place = record.caller(frame)
            if place is not None and not record.is_known(place, name):
                text = arguments(args[skipped:], kwargs)
                record.call(place, name, text, f"{name}{npu_text(text)}", record.EXACT)
        return function(*args, **kwargs)

    return call


def _says_cuda(value: Any) -> bool:
    if type(value) is str:
        return value.startswith("cuda") or "nccl" in value
    if isinstance(value, dict) and len(value) < 64:
        return any(_says_cuda(key) or _says_cuda(item) for key, item in value.items() if isinstance(item, str))
    return False


def _watch_property(owner: Any, last: str, name: str, became: str) -> None:
    found = getattr(owner, last)
    get: Any = found.__get__ if hasattr(found, "__get__") else found

    def value(self: Any) -> Any:
        frame = record.caller(sys._getframe(1))
        if frame is not None and not record.is_known(frame, name):
            record.call(frame, name, "", became, record.EXACT)
        return get(self)

    setattr(owner, last, property(value))


def _watch_module(name: str, public: set[str]) -> None:
    """Record each reading of a name of the module, and the arguments of functions that are called."""
    module: Any = sys.modules[name]
    plain: Any = type(module)

    class Watched(plain):  # type: ignore[misc]
        """A module of torch whose names are recorded where the program reads them."""

        def __getattribute__(self, attribute: str) -> Any:
            value = plain.__getattribute__(self, attribute)
            if attribute not in public or issubclass(type(value), ModuleType):
                return value
            frame = record.caller(sys._getframe(1))
            if frame is None or isinstance(value, _FUNCTIONS):
                return value
            _read(frame, f"{name}.{attribute}", "")
            return value

    for attribute in public:
        value = module.__dict__.get(attribute)
        if isinstance(value, _FUNCTIONS) and str(value.__module__).partition(".")[0] in INSIDE:
            module.__dict__[attribute] = _called(f"{name}.{attribute}", value)
    module.__class__ = Watched


def _called(name: str, function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        frame = record.caller(sys._getframe(1))
        if frame is not None and not record.is_known(frame, name):
            _read(frame, name, arguments(args, kwargs))
        return function(*args, **kwargs)

    return call


def _read(frame: FrameType, name: str, text: str) -> None:
    became, status = counterpart(name)
    patch = _PATCH_OF.get(name, "transfer")
    record.call(frame, name, text, f"{became}{npu_text(text)}" if became else "", status, patch)


def counterpart(name: str) -> tuple[str, str]:
    """What takes a name's place on the NPU, and whether it means the same there."""
    npu = sys.modules["torch_npu"].npu
    there: Any = npu
    path = name.removeprefix("torch.cuda.")
    for part in path.split("."):
        there = getattr(there, part, None)
    row = next((row for row in _meanings().get(name, ()) if _holds(row)), None)
    if row is None:
        return (f"torch.npu.{path}", record.EXACT) if there is not None else ("", record.NONE)
    if row["effect"] == "missing":
        patched = _PATCH_OF.get(name) in applied
        return (row.get("npu") or "", record.CHANGED if patched else record.NONE)
    return row.get("npu") or f"torch.npu.{path}", record.EXACT if row["effect"] == "renamed" else record.CHANGED


def _holds(row: dict[str, str]) -> bool:
    release = _numbers(str(sys.modules["torch_npu"].__version__))
    since, until = _numbers(row.get("since", "")), _numbers(row.get("until", ""))
    return (not since or release >= since) and (not until or release[: len(until)] <= until)


def _numbers(version: str) -> tuple[int, ...]:
    plain = version.partition("+")[0].partition(".post")[0].partition("rc")[0]
    return tuple(int(part) for part in plain.split(".") if part.isdigit())


@functools.lru_cache(maxsize=1)
def _meanings() -> dict[str, list[dict[str, str]]]:
    file = Path(__file__).parent / "data" / "meanings.json"
    found: dict[str, list[dict[str, str]]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What was passed, short: numbers, names of devices and types; of all else the kind."""
    parts = [_short(value) for value in args[:8]] + (["…"] if len(args) > 8 else [])
    parts += [f"{key}={_short(value)}" for key, value in list(kwargs.items())[:8]]
    return f"({', '.join(parts)})"


def _short(value: Any) -> str:
    if isinstance(value, (bool, int, float, type(None), torch.dtype)):
        return repr(value)
    if isinstance(value, str):
        # Texts may hold what is nobody's business; those that name devices do not.
        return repr(value[:60]) if any(word in value for word in ("cuda", "nccl", "npu", "cpu")) else "str"
    if isinstance(value, torch.device):
        return f"device({str(value)!r})"
    if isinstance(value, torch.Tensor):
        return f"Tensor{tuple(value.shape)}"
    return type(value).__name__
