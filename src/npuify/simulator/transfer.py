"""What ``from torch_npu.contrib import transfer_to_npu`` does: CUDA's names mean the NPU from then on.

Which names it touches is in the release's table (``transfer_patches``, read from the package); what it does to each
kind of name is written here after how torch_npu behaves.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator import state

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_DEVICE_KEYWORDS = ("device", "device_type", "map_location", "device_id")
_MODULES = {
    "torch.cuda": "torch_npu.npu",
    "torch.cuda.amp": "torch_npu.npu.amp",
    "torch.cuda.random": "torch_npu.npu.random",
    "torch.cuda.amp.autocast_mode": "torch_npu.npu.amp.autocast_mode",
    "torch.cuda.amp.common": "torch_npu.npu.amp.common",
    "torch.cuda.amp.grad_scaler": "torch_npu.npu.amp.grad_scaler",
}
"""Module of CUDA → the one whose public names it takes."""

_REPLACED = {
    "torch.cuda.CUDAGraph": "torch.npu.NPUGraph",
    "torch.cuda.DoubleTensor": "torch.npu.FloatTensor",
    "torch.cuda.memory._dump_snapshot": "torch.npu.memory._dump_snapshot",
    "torch.Tensor.cuda": "torch.Tensor.npu",
    "torch.Tensor.is_cuda": "torch.Tensor.is_npu",
    "torch.nn.Module.cuda": "torch.nn.Module.npu",
    "torch.storage.TypedStorage.is_cuda": "torch.storage.TypedStorage.is_npu",
    "torch.get_autocast_gpu_dtype": "torch.npu.get_autocast_dtype",
    "torch.set_autocast_gpu_dtype": "torch.npu.set_autocast_dtype",
    "torch.distributed.is_nccl_available": "torch.distributed.is_hccl_available",
    "torch.profiler.schedule": "torch_npu.profiler.schedule",
    "torch.profiler.tensorboard_trace_handler": "torch_npu.profiler.tensorboard_trace_handler",
    "torch.profiler.ProfilerAction": "torch_npu.profiler.ProfilerAction",
    "torch.profiler.ProfilerActivity.CUDA": "torch_npu.profiler.ProfilerActivity.NPU",
}
"""Name → what stands there from then on."""

_GROUPS = ("torch.distributed.init_process_group", "torch.distributed.distributed_c10d._new_group_with_tag")
"""Functions that name a backend of torch.distributed."""

_ENTRY = "torch.cuda.is_available"
_LEFT = (
    "torch._dynamo.",
    "torch._inductor.",
    "torch.utils._triton.",
    "torch.utils.cpp_extension",
    "torch.distributed.checkpoint.",
    "torch._C.",
)
"""What only tells PyTorch's compiler which chip there is, or concerns parts that are not simulated."""


def apply() -> None:
    """Do it, for the release that is simulated. A second time does nothing."""
    if _done:
        return
    _done.append(True)
    _warn()
    # First, as the real one does in its releases from torch 2.1 on: the list is made once, of the functions that are
    # there then, and with the wrapped ones in it torch.set_default_device would reach none of them.
    importlib.import_module("torch.utils._device")._device_constructors()
    names: list[str] = state.table["transfer_patches"]
    is_available = torch.cuda.is_available
    for cuda, npu in _MODULES.items():
        if cuda in names:
            _take_names(cuda, npu)
    for name in names:
        if name.startswith(_LEFT) or name in _MODULES or name == _ENTRY:
            continue
        if name in _REPLACED:
            _replace(name, _find(_REPLACED[name]))
        elif name == "torch.profiler.profile":
            _replace(name, _profile())
        elif name in _GROUPS:
            _wrap(name, lambda function: _with_devices(_with_backend(function)))
        elif name == "torch.is_autocast_enabled":
            _wrap(name, _autocast_enabled)
        elif name == "torch.set_autocast_enabled":
            _wrap(name, _set_autocast_enabled)
        elif name in ("torch.jit.script", "torch.jit.script_method"):
            _wrap(name, _unscripted)
        elif name == "torch.Generator":
            torch.Generator = _generator()
        elif name == "torch.Event" and hasattr(torch, "Event"):
            torch.Event = _event()
        elif name == "torch.profiler.ProfilerActivity.CPU":
            continue  # PyTorch's profiler, which does the work here, looks for its own
        elif name == "torch._utils._get_available_device_type":
            torch._utils._get_available_device_type = lambda: "npu"
        elif name.endswith("ProcessGroupNCCL"):
            continue
        elif name == "torch.cuda.default_generators":
            torch.cuda.default_generators = sys.modules["torch_npu.npu"].default_generators
        elif name.startswith("torch."):
            # Classes were taken over with their module, and stay classes; only torch.autocast is a function in the
            # releases 2.2 to 2.5, which have it in their list of functions.
            if name == "torch.autocast" or not isinstance(_find_or_none(name), type):
                _wrap(name, _with_devices)
        else:
            _wrap_library(name, is_available)
    _forget_nccl()
    _uninitialized()


_done: list[bool] = []


def _warn() -> None:
    # The real one does this to the whole process as well, in each of its releases.
    warnings.filterwarnings("once")
    if os.environ.get("RANK", "0") == "0":
        warnings.warn(
            "transfer_to_npu (simulated by npuify): torch.cuda and its functions, .cuda(), devices called cuda, and "
            "the backend nccl stand for torch.npu, .npu(), npu and hccl from here on. torch.jit.script is off.",
            ImportWarning,
            stacklevel=3,
        )


def _find(name: str) -> Any:
    """The object called ``name``; modules are imported on the way."""
    parts = name.split(".")
    found: Any = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], start=2):
        if not hasattr(found, part):
            importlib.import_module(".".join(parts[:i]))
        found = getattr(found, part)
    return found


def _replace(name: str, value: Any) -> None:
    owner, _, last = name.rpartition(".")
    place = _find_or_none(owner)
    if place is not None:
        setattr(place, last, value)


def _find_or_none(name: str) -> Any:
    try:
        return _find(name)
    except (AttributeError, ImportError):
        return None


def _wrap(name: str, wrapper: Callable[[Any], Any]) -> None:
    found = _find_or_none(name)
    if found is not None:
        _replace(name, wrapper(found))


def _take_names(cuda: str, npu: str) -> None:
    source: ModuleType = importlib.import_module(npu)
    target = _find_or_none(cuda)
    if target is None:
        return
    for name in source.__dict__.get("__all__", ()):
        value = source.__dict__[name]
        if not isinstance(value, type(sys)):
            setattr(target, name, value)


# ---- arguments ------------------------------------------------------------------------------------------------------


def _npu(value: Any) -> Any:
    """A device in any spelling, with npu for cuda."""
    if isinstance(value, str) and "cuda" in value:
        return value.replace("cuda", "npu")  # a plain text also for a class of the program's that derives from str
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("npu", value.index) if value.index is not None else torch.device("npu")
    if isinstance(value, dict):
        return {_text(k): _text(v) for k, v in value.items()}
    return value


def _text(value: Any) -> Any:
    return value.replace("cuda", "npu") if isinstance(value, str) else value


def _with_devices(function: Any) -> Any:
    """``function`` with its device arguments meant for the NPU. In ``to`` a plain number is a device, too."""
    numbers = getattr(function, "__name__", "") in ("to", "to_empty")

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if args:
            args = tuple(f"npu:{a}" if numbers and type(a) is int and i else _npu(a) for i, a in enumerate(args))
        for keyword in _DEVICE_KEYWORDS:
            value = kwargs.get(keyword)
            if value is not None:
                kwargs[keyword] = f"npu:{value}" if type(value) is int else _npu(value)
        ids = kwargs.get("device_ids")
        if isinstance(ids, (list, tuple)):
            kwargs["device_ids"] = type(ids)(_npu(i) for i in ids)
        return function(*args, **kwargs)

    return run


def _with_backend(function: Any) -> Any:
    def spelled(value: Any) -> Any:
        return value.replace("nccl", "hccl").replace("cuda", "npu") if type(value) is str else value

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        args = tuple(spelled(a) for a in args)
        if "backend" in kwargs:
            kwargs["backend"] = spelled(kwargs["backend"])
        return function(*args, **kwargs)

    return run


def _autocast_enabled(function: Any) -> Any:
    @functools.wraps(function)
    def run(device_type: Any = None) -> Any:
        return function("npu" if device_type is None else _npu(device_type))

    return run


def _set_autocast_enabled(function: Any) -> Any:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *(kwargs[k] for k in ("device_type", "enabled") if k in kwargs)]
        enabled = given[-1]
        device = _npu(given[0]) if len(given) > 1 else "npu"
        return function(device, enabled)

    return run


def _unscripted(function: Any) -> Any:
    @functools.wraps(function)
    def run(obj: Any, *args: Any, **kwargs: Any) -> Any:
        return obj

    return run


def _generator() -> Any:
    base: Any = torch.Generator

    class Meta(type(torch.Generator)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, base)

    class Generator(base, metaclass=Meta):
        def __new__(cls, device: Any = "cpu") -> Any:
            return base(_npu(device))

    return Generator


def _event() -> Any:
    base: Any = torch.Event

    class Meta(type(torch.Event)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, base)

    class Event(base, metaclass=Meta):
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            if "device" in kwargs:
                kwargs["device"] = _npu(kwargs["device"])
            return base(*map(_npu, args), **kwargs)

    return Event


def _uninitialized() -> None:
    """Parameters of lazy modules allow the methods that they know, and ``to`` is another function now."""
    allowed: list[Any] = torch.nn.parameter.UninitializedTensorMixin._allowed_methods
    for index, method in enumerate(allowed):
        if method.__name__ == "to":
            allowed[index] = torch.Tensor.to
            break


def _profile() -> Any:
    profile = _find("torch_npu.profiler.profile")
    config = _find("torch_npu.profiler._ExperimentalConfig")

    @functools.wraps(profile)
    def run(*args: Any, **kwargs: Any) -> Any:
        if "experimental_config" in kwargs and type(kwargs["experimental_config"]) is not config:
            del kwargs["experimental_config"]
        return profile(*args, **kwargs)

    return run


def _wrap_library(name: str, is_available: Any) -> None:
    """A function of another library, which still finds no CUDA while it runs. Only of libraries that are installed."""
    import importlib.util

    if importlib.util.find_spec(name.partition(".")[0]) is None:
        return

    def wrapper(function: Any) -> Any:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            now = torch.cuda.is_available
            torch.cuda.is_available = is_available
            try:
                return function(*args, **kwargs)
            finally:
                torch.cuda.is_available = now

        return run

    _wrap(name, wrapper)


def _forget_nccl() -> None:
    if torch.distributed.is_available():
        known: Any = getattr(torch.distributed.Backend, "default_device_backend_map", {})
        known.pop("cuda", None)
