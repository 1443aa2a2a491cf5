"""Numbers of eight or four bits and back."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.checks import is_abstract, require
from npuify.simulator.operators.layers.activations import swiglu
from npuify.simulator.operators.table import DOCUMENTS, operator
from npuify.simulator.operators.tensors.casts import to_dtype

_RANGES = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int32: (-(2**31), 2**31 - 1), torch.int64: (0, 0)}
_OF_QUANTIZE = (torch.qint8, torch.quint8, torch.quint4x2)


def storage(number: Any, name: str) -> tuple[torch.dtype, bool]:
    """The type of a quantised result, and whether eight numbers of four bits share one int32."""
    if number is None:
        return torch.int8, False
    dtype = to_dtype(number, name)
    if dtype is torch.quint4x2:
        return torch.int32, True
    plain = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}.get(dtype, dtype)
    require(plain in (torch.int8, torch.uint8, torch.int32), name, f"results of type {dtype} are not simulated")
    return plain, False


def pack_int4(values: torch.Tensor) -> torch.Tensor:
    """Eight whole numbers from -8 to 7 in one int32, the first in the lowest bits."""
    nibbles = values.to(torch.int64).reshape(*values.shape[:-1], -1, 8) & 0xF
    shifts = torch.arange(0, 32, 4, device=values.device)
    whole = (nibbles << shifts).sum(dim=-1)
    return torch.where(whole >= 2**31, whole - 2**32, whole).to(torch.int32)


def unpack_int4(packed: torch.Tensor) -> torch.Tensor:
    """The inverse of :func:`pack_int4`, as int8."""
    shifts = torch.arange(0, 32, 4, device=packed.device)
    nibbles = (packed.to(torch.int64).unsqueeze(-1) >> shifts) & 0xF
    return torch.where(nibbles > 7, nibbles - 16, nibbles).to(torch.int8).flatten(-2)


def rounded(values: torch.Tensor, dtype: torch.dtype, packed: bool) -> torch.Tensor:
    """Rounded half to even, limited to the type's range, and packed where asked."""
    if packed:
        return pack_int4(values.round().clamp(-8, 7))
    low, high = _RANGES[dtype]
    return values.round().clamp(low, high).to(dtype)


@operator("npu_quantize")
def npu_quantize(
    self: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None,
    dtype: Any,
    axis: int = 1,
    div_mode: bool = True,
) -> torch.Tensor:
    name = "npu_quantize"
    kind, packed = storage(dtype, name)
    if to_dtype(dtype, name) not in _OF_QUANTIZE:
        kind = torch.int32  # also for int8: the imported torch_npu 2.13.0 gives int32 for all that is not quantised
    require(not (div_mode and packed), name, "quint4x2 needs div_mode=False")
    along = axis % self.dim() if div_mode else self.dim() - (2 if axis == -2 else 1)

    def spread(value: torch.Tensor) -> torch.Tensor:
        wide = value.to(torch.float32)
        if value.dim() != 1:
            return wide
        require(value.shape[0] in (1, self.shape[along]), name, f"{value.shape[0]} scales for {self.shape[along]}")
        return wide.reshape([-1 if dim == along else 1 for dim in range(self.dim())])

    wide = self.to(torch.float32)
    scaled = wide / spread(scales) if div_mode else wide * spread(scales)
    if zero_points is not None:
        scaled = scaled + spread(zero_points)
    return rounded(scaled, kind, packed)


@operator("npu_anti_quant")
def npu_anti_quant(
    x: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor | None = None,
    dst_dtype: Any = None,
    src_dtype: Any = None,
) -> torch.Tensor:
    name = "npu_anti_quant"
    require(x.dtype in (torch.int8, torch.int32), name, f"x of type {x.dtype}")
    target = torch.float16 if dst_dtype is None else to_dtype(dst_dtype, name)
    values = (unpack_int4(x) if x.dtype is torch.int32 else x).to(torch.float32)
    if offset is not None:
        values = values + offset.to(torch.float32)
    return (values * scale.to(torch.float32)).to(target)


def _smoothed(x: torch.Tensor, smooth: torch.Tensor | None, group_index: torch.Tensor | None) -> torch.Tensor:
    wide = x.to(torch.float32)
    if smooth is None:
        return wide
    if group_index is None:
        return wide * smooth.to(torch.float32)
    flat = wide.reshape(-1, wide.shape[-1])
    if is_abstract(x, group_index):
        return wide
    ends = group_index.tolist()
    rows = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    owner = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor(rows)).to(x.device)
    return (flat * smooth.to(torch.float32)[owner]).reshape(x.shape)


def dynamic(values: torch.Tensor, dtype: Any, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Each row by its own largest number: quantised values, and the rows' scales."""
    kind, packed = storage(dtype, name)
    largest = 7.0 if packed else 127.0
    scale = values.abs().amax(dim=-1) / largest
    safe = torch.where(scale > 0, scale, torch.ones_like(scale)).unsqueeze(-1)
    return rounded(values / safe, kind, packed), scale


@operator("npu_dynamic_quant", note="per token")
def npu_dynamic_quant(
    x: torch.Tensor,
    smooth_scales: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    dst_type: Any = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    require(x.dim() > 1, "npu_dynamic_quant", "x has more than 1 dimension")
    return dynamic(_smoothed(x, smooth_scales, group_index), dst_type, "npu_dynamic_quant")


@operator("npu_dynamic_quant_asymmetric", note="per token")
def npu_dynamic_quant_asymmetric(
    x: torch.Tensor,
    smooth_scales: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    dst_type: Any = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    kind, packed = storage(dst_type, "npu_dynamic_quant_asymmetric")
    low, high = (-8.0, 7.0) if packed else (-128.0, 127.0)
    values = _smoothed(x, smooth_scales, group_index)
    top, bottom = values.amax(dim=-1), values.amin(dim=-1)
    scale = (top - bottom) / (high - low)
    safe = torch.where(scale > 0, scale, torch.ones_like(scale))
    offset = high - top / safe
    return rounded(values / safe.unsqueeze(-1) + offset.unsqueeze(-1), kind, packed), scale, offset


@operator("npu_swiglu_quant", note="dynamic, without groups")
def npu_swiglu_quant(
    x: torch.Tensor,
    smooth_scales: torch.Tensor | None = None,
    offsets: torch.Tensor | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    dst_type: Any = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_swiglu_quant"
    if quant_mode != 1:
        raise NotImplementedError(f"torch_npu.{name} is not simulated with quant_mode {quant_mode}")
    left, right = x.to(torch.float32).chunk(2, dim=-1)
    active = swiglu(torch.cat([left, right] if activate_left else [right, left], dim=-1), -1)
    if smooth_scales is not None:
        active = active * smooth_scales.to(torch.float32)
    return dynamic(active, dst_type, name)


@operator("npu_convert_weight_to_int4pack", source=f"{DOCUMENTS}torch_npu-npu_convert_weight_to_int4pack.md")
def npu_convert_weight_to_int4pack(weight: torch.Tensor, inner_k_tiles: int = 0) -> torch.Tensor:
    name = "npu_convert_weight_to_int4pack"
    require(weight.dtype in (torch.int32, torch.float32), name, f"weight of type {weight.dtype}")
    require(weight.shape[-1] % 8 == 0, name, f"the last dimension {weight.shape[-1]} is not a multiple of 8")
    return pack_int4(weight)
