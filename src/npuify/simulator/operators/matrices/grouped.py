"""Grouped products: each group of rows with its own matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.nn import functional

from npuify.simulator.operators.checks import is_abstract, require
from npuify.simulator.operators.layers.activations import fast_gelu, gelu, silu
from npuify.simulator.operators.table import DOCUMENTS, operator
from npuify.simulator.operators.tensors.casts import to_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ACTIVATIONS: dict[int, Callable[[Any], Any]] = {
    1: functional.relu,
    2: lambda x: gelu(x, "tanh"),
    3: lambda x: gelu(x, "none"),
    4: fast_gelu,
    5: silu,
}


def group_sizes(group_list: Any, kind: int, groups: int, total: int, name: str) -> list[int]:
    """Rows of each group.

    Args:
        group_list: a tensor or list: running totals (``kind`` 0), sizes (1), or pairs of group and size (2).
        total: all rows; on fake tensors they are shared out evenly, which changes no shape.
    """
    if isinstance(group_list, torch.Tensor):
        if is_abstract(group_list):
            count = group_list.shape[0] if groups == 0 else groups
            base, rest = divmod(total, max(count, 1))
            return [base + (1 if place < rest else 0) for place in range(count)]
        values = group_list.tolist()
    else:
        values = list(group_list)
    if kind == 0:
        sizes = [end - start for start, end in zip([0, *values], values, strict=False)]
    elif kind == 1:
        sizes = [int(value) for value in values]
    else:
        require(kind == 2, name, f"group_list_type is 0, 1 or 2, not {kind}")
        sizes = [0] * groups
        for place, size in values:
            sizes[int(place)] = int(size)
    require(all(size >= 0 for size in sizes), name, "group_list is not a list of running totals")
    require(sum(sizes) <= total, name, f"group_list takes {sum(sizes)} rows of {total}")
    return sizes


def _finish(y: torch.Tensor, bias: torch.Tensor | None, act_type: int, dtype: torch.dtype, name: str) -> torch.Tensor:
    if bias is not None:
        y = y + bias.to(y.dtype)
    if act_type:
        require(act_type in _ACTIVATIONS, name, f"act_type {act_type} is not supported")
        y = _ACTIVATIONS[act_type](y)
    return y.to(dtype)


_NAME = "npu_grouped_matmul"


class _Given(NamedTuple):
    """What a grouped product is given beside its inputs: lists with one tensor for all groups, or one for each."""

    weight: Sequence[torch.Tensor]
    bias: Sequence[torch.Tensor] | None
    scale: Sequence[torch.Tensor] | None
    per_token_scale: Sequence[torch.Tensor] | None
    antiquant_scale: Sequence[torch.Tensor] | None
    antiquant_offset: Sequence[torch.Tensor] | None
    act_type: int
    dtype: torch.dtype

    def own(self, values: Sequence[torch.Tensor] | None, place: int) -> torch.Tensor | None:
        """The part of group ``place`` of one of the lists."""
        if not values:
            return None
        if len(values) > 1:
            return values[place]
        stacked = self.weight[0].dim() == 3 and values[0].dim() > 1
        return values[0][place] if stacked else values[0]

    def product(self, left: torch.Tensor, right: torch.Tensor, place: int, rows: slice) -> torch.Tensor:
        """What group ``place`` gives, whose input are ``rows`` of the whole."""
        if left.dtype is torch.int8:
            return self._quantised(left, right, place, rows)
        factor = self.own(self.antiquant_scale, place)
        if factor is not None:
            offset = self.own(self.antiquant_offset, place)
            right = right.to(left.dtype)
            right = (right if offset is None else right + offset) * factor
        return _finish(left @ right, self.own(self.bias, place), self.act_type, self.dtype, _NAME)

    def _quantised(self, left: torch.Tensor, right: torch.Tensor, place: int, rows: slice) -> torch.Tensor:
        product = (left.to(torch.int64) @ right.to(torch.int64)).to(torch.float32)
        shift = self.own(self.bias, place)
        if shift is not None and not shift.is_floating_point():
            product = product + shift
        product = product * self.own(self.scale, place)
        if self.per_token_scale:
            product = product * self.per_token_scale[0][rows].unsqueeze(-1)
        if shift is not None and shift.is_floating_point():
            product = product + shift
        return _finish(product, None, self.act_type, self.dtype, _NAME)


def _grouped(
    x: Sequence[torch.Tensor],
    weight: Sequence[torch.Tensor],
    bias: Sequence[torch.Tensor] | None,
    scale: Sequence[torch.Tensor] | None,
    per_token_scale: Sequence[torch.Tensor] | None,
    antiquant_scale: Sequence[torch.Tensor] | None,
    antiquant_offset: Sequence[torch.Tensor] | None,
    group_list: Any,
    split_item: int,
    group_type: int | None,
    group_list_type: int,
    act_type: int,
    output_dtype: Any,
) -> list[torch.Tensor]:
    quantised = x[0].dtype is torch.int8
    require(not quantised or scale is not None, _NAME, "int8 inputs need a scale")
    require(not quantised or output_dtype is not None, _NAME, "int8 inputs need an output_dtype")
    dtype = x[0].dtype if output_dtype is None else to_dtype(output_dtype, _NAME)
    given = _Given(weight, bias, scale, per_token_scale, antiquant_scale, antiquant_offset, act_type, dtype)
    kind = -1 if group_type is None else group_type
    if group_list is None or (kind == -1 and len(x) > 1):
        require(len(x) == len(weight), _NAME, f"{len(x)} inputs and {len(weight)} weights")
        pairs = enumerate(zip(x, weight, strict=True))
        results = [given.product(left, right, place, slice(None)) for place, (left, right) in pairs]
        return [torch.cat(results)] if split_item in (2, 3) else results
    require(len(x) == 1, _NAME, "a group_list divides one input")
    if kind == 2:
        return [_by_columns(x[0], weight[0], group_list, group_list_type).to(dtype)]
    parts = _by_rows(x[0], given, group_list, group_list_type)
    if split_item in (0, 1):
        return parts
    rest = x[0].shape[0] - sum(part.shape[0] for part in parts)
    if rest:
        parts.append(parts[0].new_zeros((rest, parts[0].shape[-1])))
    return [torch.cat(parts)]


def _by_columns(x: torch.Tensor, weight: torch.Tensor, group_list: Any, kind: int) -> torch.Tensor:
    """The products of groups of the dimension that is summed over."""
    sizes = group_sizes(group_list, kind, 0, x.shape[-1], _NAME)
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    pairs = zip(starts, sizes, strict=True)
    return torch.stack([x[:, start : start + size] @ weight[start : start + size] for start, size in pairs])


def _by_rows(x: torch.Tensor, given: _Given, group_list: Any, kind: int) -> list[torch.Tensor]:
    """The products of groups of rows, each with a weight of its own."""
    weight = given.weight
    is_stacked = len(weight) == 1 and weight[0].dim() == 3
    groups = weight[0].shape[0] if is_stacked else len(weight)
    sizes = group_sizes(group_list, kind, groups, x.shape[0], _NAME)
    require(len(sizes) == groups, _NAME, f"group_list names {len(sizes)} groups, there are {groups} weights")
    parts = []
    start = 0
    for place, size in enumerate(sizes):
        rows = slice(start, start + size)
        parts.append(given.product(x[rows], weight[0][place] if is_stacked else weight[place], place, rows))
        start += size
    return parts


@operator("npu_grouped_matmul", note="without int4 and without quantised outputs")
def npu_grouped_matmul(
    x: list[torch.Tensor],
    weight: list[torch.Tensor],
    bias: list[torch.Tensor] | None = None,
    scale: list[torch.Tensor] | None = None,
    antiquant_scale: list[torch.Tensor] | None = None,
    antiquant_offset: list[torch.Tensor] | None = None,
    per_token_scale: list[torch.Tensor] | None = None,
    group_list: torch.Tensor | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    tuning_config: list[int] | None = None,
    output_dtype: int | None = None,
) -> list[torch.Tensor]:
    return _grouped(
        x,
        weight,
        bias,
        scale,
        per_token_scale,
        antiquant_scale,
        antiquant_offset,
        group_list,
        split_item or 0,
        group_type,
        group_list_type or 0,
        act_type or 0,
        output_dtype,
    )


@operator("npu_grouped_matmul.List", source=f"{DOCUMENTS}torch_npu-npu_grouped_matmul.md")
def npu_grouped_matmul_list(
    x: list[torch.Tensor],
    weight: list[torch.Tensor],
    bias: list[torch.Tensor] | None = None,
    scale: list[torch.Tensor] | None = None,
    antiquant_scale: list[torch.Tensor] | None = None,
    antiquant_offset: list[torch.Tensor] | None = None,
    per_token_scale: list[torch.Tensor] | None = None,
    group_list: list[int] | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    output_dtype: Any = None,
) -> list[torch.Tensor]:
    return _grouped(
        x,
        weight,
        bias,
        scale,
        per_token_scale,
        antiquant_scale,
        antiquant_offset,
        group_list,
        split_item or 0,
        group_type,
        group_list_type or 0,
        act_type or 0,
        output_dtype,
    )


@operator("npu_grouped_matmul_add", source="torch_npu/_op_plugin_docs.py", evidence="package")
def npu_grouped_matmul_add(
    self: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    group_list: torch.Tensor,
    transpose_x: bool = True,
    transpose_weight: bool = False,
    group_type: int = 2,
    group_list_type: int | None = 0,
) -> torch.Tensor:
    name = "npu_grouped_matmul_add"
    require(transpose_x and not transpose_weight and group_type == 2, name, "only x transposed, grouped by rows of it")
    sizes = group_sizes(group_list, group_list_type or 0, 0, x.shape[0], name)
    parts = []
    start = 0
    for size in sizes:
        parts.append(x[start : start + size].float().t() @ weight[start : start + size].float())
        start += size
    return self + torch.stack(parts).reshape(self.shape).to(self.dtype)
