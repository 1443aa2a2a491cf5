"""What comes after "there is no kernel": the call was bound and its arguments taken, and the program goes on.

The memory of the stand-in device is memory of the host, so the CPU computes ATen's operators in place. For torch_npu's
own operators only the shapes are known, by their registration for the meta device.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

SIGNS = (
    "Failed to find function acl",
    "Failed to find function Hccl",
    "libopapi",
    "error code is 207000",
    "aclnn",
    "call aclopUpdateParams",
    "Op compile",
    "aclopExecute",
    "aclopCompile",
    "EZ9999",
    "in aclop only support",
    "with current cann version",
)
"""Of messages that say that the library with the kernels lacks one."""


def lacks_kernel(error: BaseException) -> bool:
    """Whether all that is wrong is that the stand-in has no kernel."""
    text = str(error)
    return isinstance(error, RuntimeError) and any(sign in text for sign in SIGNS)


class Kernels(TorchDispatchMode):
    """Goes on where a kernel is asked for. ``asked``: the operators, as they are called."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            return func(*args, **kwargs)
        except RuntimeError as error:
            if not lacks_kernel(error):
                raise
        self.asked.append(func._schema.name)
        own = not func._schema.name.startswith("aten::")
        return _shapes_only(func, args, kwargs) if own else _on_host(func, args, kwargs)


def _device_of(args: Any, kwargs: Any) -> torch.device:
    if kwargs.get("device") is not None:
        return torch.device(kwargs["device"])
    found: list[torch.device] = []
    tree_map(
        lambda v: found.append(v.device) if isinstance(v, torch.Tensor) and v.device.type != "cpu" else v,
        (args, kwargs),
    )
    return found[0] if found else torch.device("npu")


def _on_host(func: Any, args: Any, kwargs: Any) -> Any:
    device = _device_of(args, kwargs)
    originals: dict[int, Any] = {}
    kept: list[Any] = []

    def there(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.device.type == "npu":
            alias = _alias(value)
            originals[id(alias)] = value
            kept.append(alias)
            return alias
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if isinstance(value, torch.Generator):
            return None
        return value

    def back(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in originals:
            return originals[id(value)]
        if device.type == "cpu":
            return value.clone()
        return _to_device(value, device)

    result = func(*tree_map(there, args), **tree_map(there, kwargs))
    return tree_map(back, result)


def _shapes_only(func: Any, args: Any, kwargs: Any) -> Any:
    device = _device_of(args, kwargs)

    def there(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
        return torch.device("meta") if isinstance(value, torch.device) else value

    def back(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return _to_device(torch.zeros(value.size(), dtype=value.dtype), device)

    try:
        result = func(*tree_map(there, args), **tree_map(there, kwargs))
    except (NotImplementedError, RuntimeError):
        return _by_schema(func, args, device)
    return tree_map(back, result)


def _by_schema(func: Any, args: Any, device: torch.device) -> Any:
    """Zeros like the first tensor, where not even the shapes are known."""
    first = next(value for value in args if isinstance(value, torch.Tensor))
    made = [
        _to_device(torch.zeros(first.size(), dtype=first.dtype), device) if "Tensor" in str(returned.type) else 0
        for returned in func._schema.returns
    ]
    return made[0] if len(made) == 1 else tuple(made)


def _alias(value: torch.Tensor) -> torch.Tensor:
    """A tensor of the CPU on the memory of one of the device."""
    storage = value.untyped_storage()
    if not storage.nbytes():
        return torch.empty(value.size(), dtype=value.dtype)
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    size = storage.nbytes() // value.element_size() * value.element_size()
    flat = torch.frombuffer(memory, dtype=torch.uint8)[:size].view(value.dtype)
    return flat.as_strided(value.size(), value.stride(), value.storage_offset())


def _to_device(value: torch.Tensor, device: torch.device) -> torch.Tensor:
    made = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
    _alias(made).copy_(value)
    return made
