"""Types and storage formats."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"
_FORMATS: dict[int, str] = {
    -1: "UNDEFINED",
    0: "NCHW",
    1: "NHWC",
    2: "ND",
    3: "NC1HWC0",
    4: "FRACTAL_Z",
    12: "NC1HWC0_C04",
    16: "HWCN",
    27: "NDHWC",
    29: "FRACTAL_NZ",
    30: "NCDHW",
    32: "NDC1HWC0",
    33: "FRACTAL_Z_3D",
}
"""Numbers and names of storage formats, as torch_npu.npu_format_cast documents them."""

SCALAR_TYPES: dict[int, torch.dtype] = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    8: torch.complex32,
    9: torch.complex64,
    10: torch.complex128,
    11: torch.bool,
    12: torch.qint8,
    13: torch.quint8,
    14: torch.qint32,
    15: torch.bfloat16,
    16: torch.quint4x2,
}
"""Numbers of types, from c10/core/ScalarType.h: schemas that say ``int dtype`` pass these."""


def to_dtype(number: Any, operator: str) -> torch.dtype:
    """A type given as a number or as itself.

    Raises:
        NotImplementedError: a type that PyTorch has no name for, such as hifloat8.
    """
    if isinstance(number, torch.dtype):
        return number
    if number in SCALAR_TYPES:
        return SCALAR_TYPES[number]
    raise NotImplementedError(f"torch_npu.{operator} is not simulated for type number {number}")


def _keep(tensor: torch.Tensor, acl_format: int, operator: str) -> torch.Tensor:
    require(acl_format in _FORMATS, operator, f"unknown storage format {acl_format}")
    return tensor.clone()


_FORMAT_NOTE = "storage formats have no effect on values; every tensor stays in format ND"


@operator(
    "npu_format_cast",
    source=f"{_BETA}npu_format_cast.md",
    gradients=("self",),
    formula=lambda a, r, g: (g[0],),
    note=_FORMAT_NOTE,
)
def npu_format_cast(
    self: torch.Tensor, acl_format: int, customize_dtype: int | None = None, input_dtype: int | None = None
) -> torch.Tensor:
    return _keep(self, acl_format, "npu_format_cast")


@operator("npu_format_cast.Tensor", source=f"{_BETA}npu_format_cast.md", gradients=("self",), note=_FORMAT_NOTE)
def npu_format_cast_like(self: torch.Tensor, dst: torch.Tensor) -> torch.Tensor:
    return self.clone()


@operator(
    "_npu_format_cast",
    source=DERIVATIVES,
    gradients=("self",),
    formula=lambda a, r, g: (g[0],),
    note=_FORMAT_NOTE,
)
def _npu_format_cast(self: torch.Tensor, acl_format: int) -> torch.Tensor:
    return _keep(self, acl_format, "_npu_format_cast")


@operator("npu_format_cast_.acl_format", source=f"{_BETA}npu_format_cast_.md", note=_FORMAT_NOTE)
def npu_format_cast_(self: torch.Tensor, acl_format: int) -> torch.Tensor:
    require(acl_format in _FORMATS, "npu_format_cast_", f"unknown storage format {acl_format}")
    return self


@operator("npu_format_cast_", source=f"{_BETA}npu_format_cast_.md", note=_FORMAT_NOTE)
def npu_format_cast_copy(self: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    return self.copy_(src)


@operator(
    "get_npu_format", source="torch_npu/csrc/aten/npu_native_functions.yaml", evidence="package", note="always ND"
)
def get_npu_format(self: torch.Tensor) -> int:
    return 2


@operator("get_storage_size", source="torch_npu/csrc/aten/npu_native_functions.yaml", evidence="package")
def get_storage_size(self: torch.Tensor) -> int:
    return int(self.untyped_storage().nbytes() // self.element_size())


@operator("npu_dtype_cast", source=f"{_BETA}npu_dtype_cast.md", gradients=("self",))
def npu_dtype_cast(self: torch.Tensor, dtype: Any, input_dtype: int | None = None) -> torch.Tensor:
    return self.to(to_dtype(dtype, "npu_dtype_cast"), copy=True)


@operator("_npu_dtype_cast", source=DERIVATIVES, gradients=("self",))
def _npu_dtype_cast(self: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return self.to(dtype, copy=True)


@operator("npu_dtype_cast_", source=f"{_BETA}npu_dtype_cast.md")
def npu_dtype_cast_(self: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    return self.copy_(src)


@operator("npu_dtype_cast_backward", source=DERIVATIVES)
def npu_dtype_cast_backward(
    grad: torch.Tensor, dtype: torch.dtype, grad_dtype: int | None = None, input_dtype: int | None = None
) -> torch.Tensor:
    return grad.to(dtype, copy=True)


@operator("_npu_dtype_cast_backward", source=DERIVATIVES)
def _npu_dtype_cast_backward(grad: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return grad.to(dtype, copy=True)


@operator("empty_with_format", source=f"{_BETA}empty_with_format.md", note=_FORMAT_NOTE)
def empty_with_format(
    size: list[int],
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    acl_format: int = 2,
    base_addr_aligned_kb: int | None = None,
) -> torch.Tensor:
    return torch.empty(list(size), dtype=dtype, device=device)


@operator("unsafe_empty_with_format", source=f"{_BETA}empty_with_format.md", note=_FORMAT_NOTE)
def unsafe_empty_with_format(
    size: list[int],
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    acl_format: int = 2,
    keep_format: bool = False,
) -> torch.Tensor:
    return torch.empty(list(size), dtype=dtype, device=device)


@operator(
    "empty_with_swapped_memory", source=f"{DOCUMENTS}torch_npu-empty_with_swapped_memory.md", note="ordinary memory"
)
def empty_with_swapped_memory(size: list[int], dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    return torch.zeros(list(size), dtype=dtype, device=device)
