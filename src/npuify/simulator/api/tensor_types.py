"""The old names for tensors and storages of a type: ``torch.npu.FloatTensor``, ``torch.npu.FloatStorage``."""

from __future__ import annotations

from typing import Any

import torch

_TYPES = {
    "BFloat16": torch.bfloat16,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Short": torch.int16,
}


class NpuTensorType(type):
    """The class of ``torch.npu.FloatTensor`` and its like."""

    dtype: torch.dtype

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch.Tensor) and value.device.type == "npu" and value.dtype is cls.dtype

    def __call__(cls, *args: Any, device: Any = "npu") -> torch.Tensor:
        sizes = args and all(isinstance(a, int) for a in args)
        if not args:
            return torch.empty(0, dtype=cls.dtype, device=device)
        if sizes:
            return torch.empty(*args, dtype=cls.dtype, device=device)
        if isinstance(args[0], torch.Size):
            return torch.empty(args[0], dtype=cls.dtype, device=device)
        return torch.tensor(*args, dtype=cls.dtype, device=device)


def _tensor_type(name: str, dtype: torch.dtype) -> NpuTensorType:
    return NpuTensorType(name, (), {"dtype": dtype, "is_npu": True, "is_cuda": False, "__module__": "torch.npu"})


def _storage_type(name: str, dtype: torch.dtype) -> type:
    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        return torch.TypedStorage(*args, dtype=dtype, device="npu", **kwargs)

    return type(name, (), {"__new__": new, "__module__": "torch.npu"})


for _name, _dtype in _TYPES.items():
    globals()[f"{_name}Tensor"] = _tensor_type(f"{_name}Tensor", _dtype)
    globals()[f"{_name}Storage"] = _storage_type(f"{_name}Storage", _dtype)
