"""Dropout and its masks: bit masks, eight elements to the byte, padded to 128 elements."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"
_ALIGNED = 128
_NOTE = "draws other numbers than the device"
_GENERATOR = "Ascend/op-plugin@517f2e7d op_plugin/ops/opapi/DropoutGenMaskKernelNpuOpApi.cpp"


def mask_bytes(count: int) -> int:
    """Bytes of a bit mask for so many elements."""
    return (count + _ALIGNED - 1) // _ALIGNED * _ALIGNED // 8


def pack(kept: torch.Tensor) -> torch.Tensor:
    """A bit mask of a flat boolean tensor; the first element is the lowest bit."""
    padded = torch.nn.functional.pad(kept.to(torch.uint8), [0, mask_bytes(kept.numel()) * 8 - kept.numel()])
    shifts = torch.arange(8, device=kept.device, dtype=torch.uint8)
    return (padded.reshape(-1, 8) << shifts).sum(dim=1).to(torch.uint8)


def unpack(mask: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The first elements of a bit mask, as booleans of ``shape``."""
    shifts = torch.arange(8, device=mask.device, dtype=torch.uint8)
    bits = (mask.unsqueeze(1) >> shifts) & 1
    return bits.reshape(-1)[: shape.numel()].reshape(shape).to(torch.bool)


def _scaled(x: torch.Tensor, kept: torch.Tensor, p: float) -> torch.Tensor:
    return x * 0 if p >= 1.0 else (x * kept) / (1.0 - p)


def _drawn(shape: torch.Size, p: float, device: torch.device) -> torch.Tensor:
    return torch.empty(shape, device=device).bernoulli_(1.0 - p).to(torch.bool)


def _formula(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    return (torch.ops.npu.npu_dropout_backward(g[0], r[1], a.p),)


@operator("_npu_dropout", source=f"{_BETA}_npu_dropout.md", gradients=("self",), formula=_formula, note=_NOTE)
def _npu_dropout(self: torch.Tensor, p: float) -> tuple[torch.Tensor, torch.Tensor]:
    kept = _drawn(self.shape, p, self.device)
    return _scaled(self, kept, p).to(self.dtype), pack(kept.reshape(-1))


@operator("npu_dropout_backward", source=DERIVATIVES)
def npu_dropout_backward(grad_output: torch.Tensor, mask: torch.Tensor, p: float) -> torch.Tensor:
    return _scaled(grad_output, unpack(mask, grad_output.shape), p).to(grad_output.dtype)


@operator("npu_dropout_do_mask", source=DERIVATIVES, gradients=("self",), formula=_formula)
def npu_dropout_do_mask(self: torch.Tensor, mask: torch.Tensor, p: float) -> tuple[torch.Tensor, torch.Tensor]:
    return _scaled(self, unpack(mask, self.shape), p).to(self.dtype), mask.clone()


@operator("npu_dropout_gen_mask", source=_GENERATOR, evidence="package", note=_NOTE)
def npu_dropout_gen_mask(
    size: list[int],
    p: float,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    count = torch.Size(list(size)).numel()
    return pack(_drawn(torch.Size([count]), p, torch.device(device or "cpu")))


@operator("_npu_dropout_gen_mask.Tensor", source=_GENERATOR, evidence="package", note=_NOTE)
def _npu_dropout_gen_mask(
    self: torch.Tensor,
    size: list[int],
    p: float,
    seed: int,
    offset: int,
    parallel: bool | None = True,
    sync: bool | None = None,
) -> torch.Tensor:
    return pack(_drawn(torch.Size([torch.Size(list(size)).numel()]), p, self.device))


def _byte_formula(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    return (torch.ops.npu._dropout_with_byte_mask_backward(g[0], r[1], a.p),)


@operator("_dropout_with_byte_mask", source=DERIVATIVES, gradients=("self",), formula=_byte_formula, note=_NOTE)
def _dropout_with_byte_mask(self: torch.Tensor, p: float) -> tuple[torch.Tensor, torch.Tensor]:
    kept = _drawn(self.shape, p, self.device)
    return _scaled(self, kept, p).to(self.dtype), kept.to(torch.uint8).reshape(-1)


@operator("_dropout_with_byte_mask_backward", source=DERIVATIVES)
def _dropout_with_byte_mask_backward(grad_output: torch.Tensor, mask: torch.Tensor, p: float) -> torch.Tensor:
    return _scaled(grad_output, mask.reshape(grad_output.shape).to(torch.bool), p).to(grad_output.dtype)


@operator("npu_sign_bits_pack", source=f"{_BETA}npu_sign_bits_pack.md")
def npu_sign_bits_pack(self: torch.Tensor, size: int) -> torch.Tensor:
    bits = (self >= 0).to(torch.uint8)
    padded = torch.nn.functional.pad(bits, [0, -bits.numel() % 8])
    shifts = torch.arange(8, device=self.device, dtype=torch.uint8)
    return (padded.reshape(-1, 8) << shifts).sum(dim=1).to(torch.uint8).reshape(size, -1)


@operator("npu_sign_bits_unpack", source=f"{_BETA}npu_sign_bits_unpack.md")
def npu_sign_bits_unpack(self: torch.Tensor, size: int, dtype: torch.dtype) -> torch.Tensor:
    shifts = torch.arange(8, device=self.device, dtype=torch.uint8)
    bits = (self.reshape(-1, 1) >> shifts) & 1
    return (bits.to(dtype) * 2 - 1).reshape(size, -1)
