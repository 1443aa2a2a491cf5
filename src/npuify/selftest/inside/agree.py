"""Whether results on the NPU agree with the CPU's, within what a type can hold."""

from __future__ import annotations

from typing import Any

from npuify.selftest.inside.ask import CannotAsk, is_stand_in

LIMITS = {"float32": (2e-3, 2e-4), "float16": (1e-2, 2e-3), "bfloat16": (5e-2, 2e-2), "float64": (2e-3, 2e-4)}
"""Type → relative and absolute difference. Convolutions take HF32 unless told otherwise, whose products have ten
bits."""


def tensors(value: Any) -> list[Any]:
    """The tensors in a result, in order."""
    import torch
    from torch.utils._pytree import tree_leaves

    return [one for one in tree_leaves(value) if isinstance(one, torch.Tensor)]


def difference(actual: Any, expected: Any) -> str:
    """What is wrong with a result; empty where it agrees.

    Args:
        actual, expected: tensors, or what holds them. Half types are compared in float32.

    Raises:
        CannotAsk: the results have the right shapes, and nothing here computes what is in them.
    """
    import torch

    ours, theirs = tensors(actual), tensors(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} results for {len(theirs)}"
    for one, other in zip(ours, theirs, strict=True):
        one = one.detach().cpu()
        other = other.detach().cpu()
        if one.shape != other.shape:
            return "another shape"
        if is_stand_in():
            continue
        rtol, atol = LIMITS.get(str(one.dtype).removeprefix("torch."), (0.0, 0.0))
        if one.is_complex():
            rtol, atol = LIMITS["float32"]
        kind = torch.float32 if one.dtype in (torch.float16, torch.bfloat16, torch.float64) else one.dtype
        # Sums cancel: what counts is the size of what was added up, for which that of the largest result stands.
        finite = other.to(kind)[other.to(kind).isfinite()] if rtol else other
        atol += rtol * finite.abs().max().item() if rtol and finite.numel() else 0.0
        if not torch.allclose(one.to(kind), other.to(kind), rtol=rtol, atol=atol, equal_nan=True):
            if one.dtype is torch.bool or not (one.is_floating_point() or one.is_complex()):
                return "other values"
            gap = (one.to(kind) - other.to(kind)).abs().nan_to_num(nan=float("inf")).max().item()
            return f"differs by {gap:.3g}"
    if ours and is_stand_in():
        raise CannotAsk("there is no kernel here")
    return ""
