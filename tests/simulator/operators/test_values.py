"""Values and gradients against PyTorch's own operators; types and shapes on real, meta and fake tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch")

from npuify.selftest.inside.samples.custom_cases import CASES  # noqa: E402

if TYPE_CHECKING:
    from npuify.selftest.inside.samples.custom_cases.case import Case

BY_NAME = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


@BY_NAME
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_values(case: Case, dtype: Any) -> None:
    inputs = case.inputs(dtype)
    wanted = as_tuple(case.reference(**inputs))
    found = as_tuple(case.call(**inputs))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other.to(one.dtype), rtol=2e-5, atol=2e-5 if dtype is torch.float32 else 1e-7)


@BY_NAME
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_gradients(case: Case, dtype: Any) -> None:
    inputs = case.inputs(dtype)
    found = as_tuple(case.call(**inputs))
    if not case.gradient_of:
        detached = {name: tensor.detach().requires_grad_(True) for name, tensor in inputs.items()}
        assert not any(value.requires_grad for value in as_tuple(case.call(**detached)))
        return
    leaves = [tensor for tensor in inputs.values() if tensor.requires_grad]
    directions = [torch.randn_like(found[place]) for place in case.gradient_of]
    ours = torch.autograd.grad([found[place] for place in case.gradient_of], leaves, directions)
    wanted = as_tuple(case.reference(**inputs))
    theirs = torch.autograd.grad(
        [wanted[place] for place in case.gradient_of],
        leaves,
        [direction.to(wanted[place].dtype) for place, direction in zip(case.gradient_of, directions, strict=True)],
    )
    for one, other in zip(ours, theirs, strict=True):
        # A type cast makes float64 no better than float32.
        loose = dtype is torch.float32 or found[0].dtype is torch.float32
        torch.testing.assert_close(one, other, rtol=1e-4 if loose else 1e-6, atol=1e-4 if loose else 1e-6)


@BY_NAME
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
def test_half_types_compute_in_float32_and_keep_their_type(case: Case, dtype: Any) -> None:
    if not case.low_precision:
        pytest.skip("differs by its nature")
    low = case.inputs(dtype)
    wide = {name: tensor.detach().float() for name, tensor in low.items()}
    tolerance = 2e-2 if dtype is torch.float16 else 1e-1
    for one, other in zip(as_tuple(case.call(**low)), as_tuple(case.reference(**wide)), strict=True):
        if case.name not in ("npu_dtype_cast",) and one.dtype is not torch.float32:
            assert one.dtype is dtype
        torch.testing.assert_close(one.float(), other.float(), rtol=tolerance, atol=tolerance)


@BY_NAME
def test_fake_tensors_have_the_same_shapes_and_types(case: Case) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    inputs = case.inputs(torch.float32)
    real = as_tuple(case.call(**inputs))
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        fake = {name: mode.from_tensor(tensor) for name, tensor in inputs.items()}
        found = as_tuple(case.call(**fake))
        for one, other in zip(found, real, strict=True):
            assert (one.shape, one.dtype, one.requires_grad) == (other.shape, other.dtype, other.requires_grad)
        if case.gradient_of:
            found[case.gradient_of[0]].sum().backward()
            assert all(tensor.grad is not None for tensor in fake.values() if tensor.requires_grad)
