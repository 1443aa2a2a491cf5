"""CUDA that is the CPU, for programs as they are: importing this changes PyTorch in this process.

A tensor is "on CUDA" where it says so: it remembers that it was moved or made there, what is computed from it is there too, and an
operation on tensors of both places raises as on a machine with CUDA. Numbers are those of the CPU.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any

import torch
import torch.distributed
from torch.overrides import TorchFunctionMode
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._pytree import tree_leaves, tree_map

COUNT = 2
_PLACE = "_fake_cuda"
_device = torch.Tensor.device
_real_device = torch.device
_current = [0]
_default: list[torch.device | None] = [None]
_seed = [0]


def _meant(value: Any) -> torch.device | None:
    """The CUDA device that an argument names; None: none."""
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        value = torch.device(value)
    if type(value) is int:
        value = torch.device("cuda", value)
    if isinstance(value, torch.device) and value.type == "cuda":
        index = _current[0] if value.index is None else value.index
        if index >= COUNT:
            raise RuntimeError("CUDA error: invalid device ordinal")
        return torch.device("cuda", index)
    return None


def _put(value: Any, device: torch.device | None) -> Any:
    def one(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            x.__dict__[_PLACE] = device
        return x

    return tree_map(one, value)


def _place(x: torch.Tensor) -> torch.device | None:
    return x.__dict__.get(_PLACE)


_MAKE = frozenset(
    "tensor ones zeros empty full rand randn randint arange linspace eye randperm as_tensor ones_like zeros_like empty_like full_like "
    "rand_like randn_like randint_like new_ones new_zeros new_empty new_full new_tensor asarray logspace".split()
)


class OnCuda(TorchFunctionMode):
    """Does what is asked of CUDA on the CPU, and keeps account of places."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if func is torch.Tensor.device.__get__ or name in ("__get__", "__set__", "backward", "__repr__", "__format__"):
            return self._special(func, name, args, kwargs)
        if func is _real_device and len(args) == 1 and type(args[0]) is int:
            return _real_device("cuda", args[0])
        if name == "_has_compatible_shallow_copy_type":
            return True
        if name == "cuda" and args:
            device = args[1] if len(args) > 1 else kwargs.get("device")
            return self._moved(args[0], _meant("cuda" if device is None else device))
        if name == "copy_":
            return _put(func(*args, **kwargs), _place(args[0]))
        if name == "cpu" and args:
            return self._moved(args[0], None)
        if name == "to" and args:
            return self._to(func, args, kwargs)
        if name == "type" and len(args) > 1 and isinstance(args[1], str) and "cuda" in args[1]:
            return _put(func(args[0], args[1].replace("cuda.", "")), _meant("cuda"))
        if name == "type" and len(args) > 1 and isinstance(args[1], _Type):
            return _put(func(args[0], args[1].dtype), _meant("cuda"))  # type: ignore[attr-defined]
        if name == "type" and len(args) == 1 and not kwargs and _place(args[0]) is not None:
            return str(func(args[0])).replace("torch.", "torch.cuda.")
        if name == "get_device" and args and _place(args[0]) is not None:
            return _place(args[0]).index  # type: ignore[union-attr]
        if name == "type_as" and len(args) > 1:
            return _put(func(*args), _place(args[1]))
        if name in _MAKE:
            return self._made(func, name, args, kwargs)
        places = {
            _place(x)
            for x in tree_leaves((args, kwargs))
            if isinstance(x, torch.Tensor) and (x.dim() or _place(x) is not None)
        }
        if len(places) > 1:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
            )
        result = func(*args, **kwargs)
        place = next(iter(places), None)
        return _put(result, place) if place is not None else result

    def _special(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        owner = getattr(func, "__self__", None)
        asked = getattr(owner, "__name__", "")
        if name == "__get__" and asked == "is_cuda":
            return _place(args[0]) is not None
        if name == "__get__" and asked == "device":
            return _place(args[0]) or torch.device("cpu")
        if name == "__set__" and asked == "data":
            args[0].__dict__[_PLACE] = _place(args[1])
        result = func(*args, **kwargs)
        if name == "__get__" and isinstance(result, torch.Tensor):
            _put(result, _place(args[0]))
        if name in ("__repr__", "__format__") and _place(args[0]) is not None and args[0].dim():
            result = f"{result[:-1]}, device='{_place(args[0])}')" if result.endswith(")") else result
        return result

    def _moved(self, tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
        return tensor if _place(tensor) == device else _put(tensor.clone(), device)

    def _to(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, *rest = args
        place = _place(tensor)
        given = []
        for value in rest:
            if isinstance(value, torch.Tensor):
                place = _place(value)
                given.append(value)
            elif isinstance(value, (str, torch.device)) or (type(value) is int and not given):
                place = _meant(value)
            else:
                given.append(value)
        if "device" in kwargs:
            device = kwargs.pop("device")
            place = place if device is None else _meant(device)
        kwargs.pop("non_blocking", None)
        given = [value for value in given if type(value) is not bool]
        result = func(tensor, *given, **kwargs) if given or kwargs else tensor
        if result is tensor and place != _place(tensor):
            result = tensor.clone()
        return _put(result, place)

    def _made(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        device = kwargs.pop("device", None)
        source = next((x for x in args if isinstance(x, torch.Tensor)), None)
        inherits = name.endswith("_like") or name.startswith("new_") or name in ("as_tensor", "asarray")
        place = _meant(device)
        if device is None:
            place = _place(source) if source is not None and inherits else _default[0]
        return _put(func(*args, **kwargs), place)


class _Type(type):
    """``torch.cuda.FloatTensor``: makes tensors there, and knows them."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch.Tensor) and _place(value) is not None and value.dtype == cls.dtype  # type: ignore[attr-defined]

    def __call__(cls, *args: Any) -> Any:
        return _put(cls.plain(*args), _meant("cuda"))  # type: ignore[attr-defined]


class Event:
    def __init__(self, *_: Any, **__: Any) -> None:
        self.recorded = False

    def record(self, *_: Any) -> None:
        self.recorded = True

    def synchronize(self) -> None:
        pass

    wait = record_event = synchronize

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return 1.0


class Stream:
    def __init__(self, *_: Any, **__: Any) -> None:
        self.device = torch.device("cuda", _current[0])

    def synchronize(self, *_: Any) -> None:
        pass

    wait_stream = wait_event = synchronize

    def record_event(self, event: Any = None) -> Any:
        return event or Event()

    def query(self) -> bool:
        return True


class _In:
    """``with torch.cuda.device(1):``."""

    def __init__(self, device: Any) -> None:
        found = _meant(device)
        self.index = found.index if found is not None and found.index is not None else _current[0]
        self.before = self.index

    def __enter__(self) -> None:
        self.before, _current[0] = _current[0], self.index

    def __exit__(self, *_: object) -> None:
        _current[0] = self.before


def _set_device(device: Any) -> None:
    found = _meant(device)
    assert found is not None and found.index is not None
    _current[0] = found.index


def _set_default(device: Any) -> None:
    _default[0] = _meant(device)


def reset() -> None:
    """As no program had run yet."""
    _current[0], _default[0], _seed[0] = 0, None, 0
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _load(file: Any, map_location: Any = None, **kwargs: Any) -> Any:
    """Programs save from the CPU: only a device that is named puts anything elsewhere."""
    named = isinstance(map_location, (str, torch.device))
    loaded = _own_load(file, map_location="cpu" if named else map_location, **kwargs)
    return _put(loaded, _meant(map_location)) if named else loaded


_own_load = torch.load


def _module_to(self: Any, *args: Any, **kwargs: Any) -> Any:
    device = kwargs.pop("device", None)
    rest = []
    for value in args:
        if isinstance(value, (str, torch.device)) or type(value) is int:
            device = value
        elif type(value) is not bool:
            rest.append(value)
    kwargs.pop("non_blocking", None)
    if rest or kwargs:
        _own_to(self, *rest, **kwargs)
    if device is not None:
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.__dict__[_PLACE] = _meant(device)
    return self


_own_to = torch.nn.Module.to
_autocast = torch.autocast


def _set_default_type(kind: Any) -> None:
    _default[0] = _meant("cuda") if "cuda" in str(kind) or isinstance(kind, _Type) else None


class _Generator(torch.Generator):
    """One that says that it is on CUDA; the numbers are not asked for."""

    def __new__(cls, device: Any = None) -> _Generator:
        return super().__new__(cls)

    def __init__(self, device: Any = None) -> None:
        self._place = _meant(device) or torch.device("cpu")

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self._place


def _parameter(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
    made = _own_parameter(cls, data, requires_grad)
    return made if data is None else _put(made, _place(data))


_own_parameter = torch.nn.Parameter.__new__


def _variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
    return _put(_own_variable(data, requires_grad), _place(data))


_own_variable = torch.autograd.Variable


class _DataParallel(torch.nn.Module):
    """On one card of the several."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.device_ids = module, device_ids or list(range(COUNT))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


class _Distributed(torch.nn.parallel.DistributedDataParallel):
    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, **options: Any) -> None:
        super().__init__(module, **options)


def _init_group(backend: Any = None, **options: Any) -> None:
    """A group of one, which has nothing to do: gloo's threads may keep it from ending."""
    _own_init_group("fake", **{**options, "store": FakeStore()})
    _backend[0] = backend


_own_init_group = torch.distributed.init_process_group
_backend: list[Any] = [None]


class _Off(_autocast):  # type: ignore[misc, valid-type]
    def __init__(self, device_type: str, *args: Any, **kwargs: Any) -> None:
        torch.device(device_type)  # refuses what is no device, as the real one does
        super().__init__("cpu", enabled=False)


def apply() -> None:
    """Change PyTorch in this process."""
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.is_initialized = lambda: True
    cuda.device_count = lambda: COUNT
    cuda.current_device = lambda: _current[0]
    cuda.set_device = _set_device
    cuda.is_bf16_supported = lambda *_: True
    cuda.device = _In
    torch.load = _load
    cuda.get_device_name = lambda device=None: "name"
    for name in (
        "synchronize",
        "empty_cache",
        "reset_peak_memory_stats",
        "reset_max_memory_allocated",
        "set_per_process_memory_fraction",
        "set_rng_state_all",
        "init",
        "ipc_collect",
    ):
        setattr(cuda, name, lambda *args, **kwargs: None)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        setattr(cuda, name, lambda device=None: 0)
    cuda.Event, cuda.Stream = Event, Stream
    cuda.stream = lambda stream: contextlib.nullcontext()
    cuda.current_stream = lambda device=None: Stream()
    cuda.get_rng_state = lambda device=None: torch.get_rng_state()
    cuda.set_rng_state = lambda state, device=None: None
    cuda.get_rng_state_all = lambda: [torch.get_rng_state()] * COUNT
    cuda.manual_seed = cuda.manual_seed_all = lambda seed: _seed.__setitem__(0, seed)
    cuda.initial_seed = lambda: _seed[0]
    cuda.default_stream = lambda device=None: Stream()
    cuda.memory_stats = lambda device=None: {}
    cuda.memory_summary = lambda device=None, abbreviated=False: ""
    cuda.mem_get_info = lambda device=None: (2**33, 2**34)
    cuda.get_device_capability = lambda device=None: (8, 0)
    cuda.get_device_properties = lambda device=None: types.SimpleNamespace(
        name="name", total_memory=2**34, major=8, minor=0, multi_processor_count=100
    )
    cuda.device_of = lambda x: _In(_place(x) or torch.device("cuda", _current[0]))
    cuda.nvtx.range_push = cuda.nvtx.range_pop = lambda *_: 0
    cuda.nvtx.range = lambda *_: contextlib.nullcontext()
    torch.version.cuda = "12.1"
    cuda.nccl.version = lambda: (2, 20, 5)
    torch.Generator = _Generator  # type: ignore[misc]
    torch.autograd.Variable = torch.autograd.variable.Variable = _variable  # type: ignore[misc, assignment]
    torch.nn.Parameter.__new__ = staticmethod(_parameter)  # type: ignore[method-assign]
    torch.nn.DataParallel = torch.nn.parallel.DataParallel = _DataParallel  # type: ignore[misc, assignment]
    torch.nn.parallel.DistributedDataParallel = _Distributed  # type: ignore[misc]
    torch.distributed.init_process_group = _init_group
    torch.distributed.get_backend = lambda group=None: _backend[0]
    torch.distributed.is_nccl_available = lambda: True
    torch.set_default_tensor_type = _set_default_type
    for name, dtype in (("Float", torch.float32), ("Long", torch.int64), ("Half", torch.float16)):
        plain = getattr(torch, f"{name}Tensor")
        setattr(cuda, f"{name}Tensor", _Type(f"{name}Tensor", (), {"dtype": dtype, "plain": staticmethod(plain)}))
    torch.nn.Module.to = _module_to
    torch.nn.Module.cuda = lambda self, device=None: _module_to(self, "cuda" if device is None else device)
    torch.nn.Module.cpu = lambda self: _module_to(self, "cpu")
    torch.Tensor.record_stream = lambda self, stream: None
    torch.Tensor.pin_memory = lambda self, device=None: self
    torch.autocast = torch.amp.autocast = _Off
    cuda.amp.autocast = lambda *args, **kwargs: _Off("cuda")
    torch.set_default_device = _set_default
    OnCuda().__enter__()


apply()
