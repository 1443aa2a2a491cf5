"""Products of quantised matrices."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.matrices.quantize import rounded, unpack_int4
from npuify.simulator.operators.table import operator
from npuify.simulator.operators.tensors.casts import to_dtype


def decoded_scale(scale: torch.Tensor) -> torch.Tensor:
    """A scale as float32; int64 ones carry a float32 of 19 bits in their lower half (npu_trans_quant_param)."""
    if scale.dtype is not torch.int64:
        return scale.to(torch.float32)
    bits = scale & 0xFFFFFFFF
    signed = torch.where(bits >= 2**31, bits - 2**32, bits).to(torch.int32)
    return signed.view(torch.float32)


@operator("npu_trans_quant_param")
def npu_trans_quant_param(
    scale: torch.Tensor, offset: torch.Tensor | None = None, round_mode: int | None = 0
) -> torch.Tensor:
    name = "npu_trans_quant_param"
    require(scale.dtype is torch.float32, name, f"scale is float32, not {scale.dtype}")
    require(round_mode in (None, 0, 1), name, f"round_mode is 0 or 1, not {round_mode}")
    bits = scale.contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    if round_mode == 1:
        # To the nearest number whose lower 13 bits are zero; ties to even.
        bits = (bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFFFFF
    out = (bits & 0xFFFFE000) | (1 << 46)
    if offset is not None:
        whole = offset.round().clamp(-256, 255).to(torch.int64)
        out = (out & 0x4000FFFFFFFF) | ((whole & 0x1FF) << 37)
    return out


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """As float64; ``to`` gives float32 on the device."""
    return torch.empty(tensor.shape, dtype=torch.float64, device=tensor.device).copy_(tensor)


@operator("npu_quant_matmul", note="without groups and without fp8 and fp4")
def npu_quant_matmul(
    x1: torch.Tensor,
    x2: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor | None = None,
    pertoken_scale: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    output_dtype: Any = None,
) -> torch.Tensor:
    name = "npu_quant_matmul"
    allowed = (torch.int8, torch.int32)
    require(x1.dtype in allowed and x2.dtype in allowed, name, f"types {x1.dtype} and {x2.dtype} are not simulated")
    if x1.dtype is torch.int32:
        x1 = unpack_int4(x1)
    if x2.dtype is torch.int32:
        x2 = unpack_int4(x2)
    require(x1.shape[-1] == x2.shape[-2], name, f"shapes {tuple(x1.shape)} and {tuple(x2.shape)} do not fit")
    # Sums of products of int8 are exact in int64, and in float64 faster.
    product = _wide(x1) @ _wide(x2)
    if bias is not None and not bias.is_floating_point():
        product = product + bias
    target = torch.int8 if output_dtype is None else to_dtype(output_dtype, name)
    if target is torch.int32:
        return product.to(torch.int32)
    value = product.to(torch.float32) * decoded_scale(scale)
    if pertoken_scale is not None:
        value = value * pertoken_scale.unsqueeze(-1)
    if offset is not None:
        value = value + offset
    if bias is not None and bias.is_floating_point():
        value = value + bias
    return rounded(value, torch.int8, False) if target is torch.int8 else value.to(target)


@operator("npu_weight_quant_batchmatmul", note="weights of int8 and of packed int4")
def npu_weight_quant_batchmatmul(
    x: torch.Tensor,
    weight: torch.Tensor,
    antiquant_scale: torch.Tensor,
    antiquant_offset: torch.Tensor | None = None,
    quant_scale: torch.Tensor | None = None,
    quant_offset: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
) -> torch.Tensor:
    name = "npu_weight_quant_batchmatmul"
    require(weight.dtype in (torch.int8, torch.int32), name, f"weights of type {weight.dtype} are not simulated")
    values = (unpack_int4(weight) if weight.dtype is torch.int32 else weight).to(torch.float32)
    require(x.shape[-1] == values.shape[-2], name, f"shapes {tuple(x.shape)} and {tuple(values.shape)} do not fit")

    def spread(factor: torch.Tensor) -> torch.Tensor:
        wide = factor.to(torch.float32)
        if antiquant_group_size:
            return wide.repeat_interleave(antiquant_group_size, dim=-2)[..., : values.shape[-2], :]
        return wide

    if antiquant_offset is not None:
        values = values + spread(antiquant_offset)
    product = x.to(torch.float32) @ (values * spread(antiquant_scale))
    if bias is not None:
        product = product + bias
    if quant_scale is None:
        return product.to(x.dtype)
    product = product * decoded_scale(quant_scale)
    return rounded(product if quant_offset is None else product + quant_offset, torch.int8, False)
