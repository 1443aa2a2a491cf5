"""Convolutions; PyTorch's own, under the package's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

if TYPE_CHECKING:
    from collections.abc import Callable

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


def _widened(*tensors: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
    """Half types as float32, in which the device adds up; some CPUs cannot convolve half types at all."""
    return tuple(None if tensor is None else tensor.to(working(tensor)) for tensor in tensors)


def _forward(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    dims: int,
) -> torch.Tensor:
    require(input.dim() == dims + 2, f"npu_conv{dims}d", f"the input has {input.dim()} dimensions, not {dims + 2}")
    convolve: Callable[..., torch.Tensor] = functional.conv2d if dims == 2 else functional.conv3d
    wide = _widened(input, weight, bias)
    return convolve(*wide, list(stride), list(padding), list(dilation), groups).to(input.dtype)


def _backward(
    grad: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    mask: list[bool],
) -> tuple[torch.Tensor, ...]:
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    found = torch.ops.aten.convolution_backward(
        *_widened(grad, input, weight),
        [channels],
        list(stride),
        list(padding),
        list(dilation),
        transposed,
        list(output_padding),
        groups,
        list(mask),
    )
    return tuple(input.new_empty([0]) if value is None else value.to(input.dtype) for value in found)


def _mask(a: Any) -> list[bool]:
    return [a.input.requires_grad, a.weight.requires_grad, a.bias is not None and a.bias.requires_grad]


def _convolution_formula(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    mask = _mask(a)
    found = torch.ops.npu.npu_convolution_backward(
        a.input, g[0], a.weight, a.stride, a.padding, a.dilation, a.groups, mask
    )
    return tuple(value if wanted else None for value, wanted in zip(found, mask, strict=True))


def _transposed_formula(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    mask = _mask(a)
    found = torch.ops.npu.npu_convolution_transpose_backward(
        a.input, g[0], a.weight, a.padding, a.output_padding, a.stride, a.dilation, a.groups, mask
    )
    return tuple(value if wanted else None for value, wanted in zip(found, mask, strict=True))


_WEIGHTED = ("input", "weight", "bias")


@operator("npu_convolution", source=f"{_BETA}npu_convolution.md", gradients=_WEIGHTED, formula=_convolution_formula)
def npu_convolution(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> torch.Tensor:
    return _forward(input, weight, bias, stride, padding, dilation, groups, input.dim() - 2)


@operator("npu_convolution_backward", source=DERIVATIVES)
def npu_convolution_backward(
    input: torch.Tensor,
    grad_output: torch.Tensor,
    weight: torch.Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    output_mask: list[bool],
) -> tuple[torch.Tensor, ...]:
    return _backward(
        grad_output, input, weight, stride, padding, dilation, False, [0] * (input.dim() - 2), groups, output_mask
    )


@operator("npu_conv2d", source=f"{_BETA}npu_conv2d.md", evidence="documented")
def npu_conv2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> torch.Tensor:
    return _forward(input, weight, bias, stride, padding, dilation, groups, 2)


@operator("npu_conv3d", source=f"{_BETA}npu_conv3d.md")
def npu_conv3d(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> torch.Tensor:
    return _forward(input, weight, bias, stride, padding, dilation, groups, 3)


for _name in ("npu_conv2d_backward", "npu_conv3d_backward"):

    @operator(_name, source="PyTorch's convolution_backward", evidence="assumed")
    def _conv_backward(
        input: torch.Tensor,
        weight: torch.Tensor,
        stride: list[int],
        padding: list[int],
        dilation: list[int],
        groups: int,
        output_mask: list[bool],
        grad_output: torch.Tensor | None = None,
        grad: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, ...]:
        given = grad_output if grad_output is not None else grad
        assert given is not None
        return _backward(
            given, input, weight, stride, padding, dilation, False, [0] * (input.dim() - 2), groups, output_mask
        )


def _transposed(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    padding: list[int],
    output_padding: list[int],
    stride: list[int],
    dilation: list[int],
    groups: int,
) -> torch.Tensor:
    convolve: Callable[..., torch.Tensor] = (
        functional.conv_transpose2d if input.dim() == 4 else functional.conv_transpose3d
    )
    wide = _widened(input, weight, bias)
    found = convolve(*wide, list(stride), list(padding), list(output_padding), groups, list(dilation))
    return found.to(input.dtype)


@operator(
    "npu_convolution_transpose",
    source=f"{_BETA}npu_convolution_transpose.md",
    gradients=_WEIGHTED,
    formula=_transposed_formula,
)
def npu_convolution_transpose(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    padding: list[int],
    output_padding: list[int],
    stride: list[int],
    dilation: list[int],
    groups: int,
) -> torch.Tensor:
    return _transposed(input, weight, bias, padding, output_padding, stride, dilation, groups)


@operator("npu_convolution_transpose_backward", source=DERIVATIVES)
def npu_convolution_transpose_backward(
    input: torch.Tensor,
    grad: torch.Tensor,
    weight: torch.Tensor,
    padding: list[int],
    output_padding: list[int],
    stride: list[int],
    dilation: list[int],
    groups: int,
    grad_input_mask: list[bool],
) -> tuple[torch.Tensor, ...]:
    return _backward(grad, input, weight, stride, padding, dilation, True, output_padding, groups, grad_input_mask)


@operator("npu_conv_transpose2d", source=f"{_BETA}npu_conv_transpose2d.md")
def npu_conv_transpose2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    padding: list[int],
    output_padding: list[int],
    stride: list[int],
    dilation: list[int],
    groups: int,
) -> torch.Tensor:
    return _transposed(input, weight, bias, padding, output_padding, stride, dilation, groups)
