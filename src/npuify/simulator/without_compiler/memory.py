"""NPU tensors on host memory, made without a line of C++.

PyTorch imports DLPack's kind "extension device" as PrivateUse1, and exports PrivateUse1 as that. So a tensor is handed
from one device to the other by exporting it, turning the kind in the exported head, and importing it: the memory stays
where it is, and each tensor keeps the one alive that it was made from.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

CPU, EXTENSION = 1, 12
"""``kDLCPU`` and ``kDLExtDev`` of dlpack.h."""


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]


class _Head(ctypes.Structure):
    """How a DLManagedTensor begins."""

    _fields_ = [("data", ctypes.c_void_p), ("device", _Device)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_export: Any = torch._C._to_dlpack
_import: Any = torch._C._from_dlpack


def _turned(tensor: torch.Tensor, kind: int, index: int) -> torch.Tensor:
    capsule = _export(tensor)
    device = _Head.from_address(_pointer(capsule, b"dltensor")).device
    device.kind, device.index = kind, index
    found: torch.Tensor = _import(capsule)
    return found


def to_npu(host: torch.Tensor, index: int = 0) -> torch.Tensor:
    """An NPU tensor on the memory of a CPU tensor."""
    return _turned(host, EXTENSION, index)


def to_host(npu: torch.Tensor) -> torch.Tensor:
    """A CPU tensor on the memory of an NPU tensor."""
    return _turned(npu, CPU, 0)


def view_of(npu: torch.Tensor, like: torch.Tensor, offset: int) -> torch.Tensor:
    """A tensor on the storage of ``npu`` with the shape and strides of ``like``, ``offset`` elements from its start."""
    view: torch.Tensor = torch.ops.aten.alias.default(npu)
    return torch.ops.aten.as_strided_.default(view, like.shape, like.stride(), offset)


def of_storage(storage: Any, dtype: torch.dtype, size: Any, stride: Any, offset: int) -> torch.Tensor:
    """A CPU tensor on the memory of an NPU's storage, which it keeps alive."""
    count = storage.nbytes()
    if count == 0:
        return torch.empty(size, dtype=dtype)
    memory = (ctypes.c_char * count).from_address(storage.data_ptr())
    memory._storage = storage
    flat = torch.frombuffer(memory, dtype=torch.uint8)
    return torch.as_strided(flat.view(dtype), size, stride, offset)
