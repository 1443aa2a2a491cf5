"""multi_tensor and layer_norm against loops over numbers in double precision, and finite differences."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

# --- layer_norm ---


def _norm(given: Any, weight: Any, bias: Any, rms: bool) -> Any:
    out = torch.zeros_like(given)
    for at, row in enumerate(given):
        mean = 0.0 if rms else row.mean()
        unit = (row - mean) / torch.sqrt(((row - mean) ** 2).mean() + 1e-3)
        unit = unit * weight.flatten() if weight is not None else unit
        out[at] = unit + bias.flatten() if bias is not None else unit
    return out


@pytest.mark.parametrize("efficient", [False, True])
@pytest.mark.parametrize("rms", [False, True])
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm(affine: bool, rms: bool, efficient: bool) -> None:
    norm, x, grad = module("layer_norm"), numbers(4, 6, low=-2, high=2), numbers(4, 6, seed=5)
    shape = (2, 3)
    weight = numbers(2, 3, seed=1, low=0.5, high=2) * torch.tensor([1.0, -1.0, 1.0]) if affine else None
    bias = numbers(2, 3, seed=2) if affine and not rms else None
    given, parts = x.reshape(4, 2, 3), [one for one in (weight, bias) if one is not None]
    name = ("rms_" if rms else "") + "forward" + ("_affine" if affine else "")
    out, *told = getattr(norm, name)(given, shape, *parts, 1e-3)
    close(out.reshape(4, 6), _norm(x, weight, bias, rms))
    assert len(told) == (1 if rms else 2)
    means = [] if rms else [None if efficient else told[0]]
    name = ("rms_" if rms else "") + "backward" + ("_affine" if affine else "")
    kept = out if efficient else given
    made = getattr(norm, name)(grad.reshape(4, 2, 3), *means, told[-1], kept, shape, *parts, 1e-3, efficient)
    made = made if affine else [made]
    close(made[0].reshape(4, 6), differences(lambda one: _norm(one, weight, bias, rms), [x], 0, grad), 1e-6)
    if affine:
        close(made[1], differences(lambda one: _norm(x, one, bias, rms), [weight], 0, grad), 1e-6)
    if bias is not None:
        close(made[2], differences(lambda one: _norm(x, weight, one, rms), [bias], 0, grad), 1e-6)
        megatron = norm.backward_affine_of_input(grad.reshape(4, 2, 3), *told, given, shape, *parts, 1e-3)
        close(megatron[0], made[0], 1e-6)


def test_types_of_layer_norm() -> None:
    norm, x = module("layer_norm"), numbers(3, 8).half()
    weight, bias = torch.ones(8), torch.zeros(8)
    assert norm.forward_affine_mixed_dtypes(x, (8,), weight, bias, 1e-5)[0].dtype == torch.float32
    out, mean, invvar = norm.forward_affine(x, (8,), weight.half(), bias.half(), 1e-5)
    assert (out.dtype, mean.dtype, invvar.dtype) == (torch.float16, torch.float32, torch.float32)
    close(out, _norm(x.double(), None, None, False), 5e-2)


def test_weights_near_zero_are_not_divided_by() -> None:
    """apex takes no weight to be nearer to 0 than epsilon, where it computes the input back."""
    norm, weight = module("layer_norm"), torch.tensor([1e-9, -1e-9, 1.0, 2.0], dtype=torch.float64)
    x, grad = numbers(2, 4), numbers(2, 4, seed=1)
    out, invvar = norm.rms_forward_affine(x, (4,), weight, 1e-3)
    of_input, of_weight = norm.rms_backward_affine(grad, invvar, out, (4,), weight, 1e-3, True)
    assert torch.isfinite(of_input).all()
    close(of_weight[:2], (grad * out / torch.tensor([1e-3, -1e-3, 1, 2])).sum(0)[:2])


# --- multi_tensor ---

FLAG = torch.zeros(1, dtype=torch.int32)


def _lists(count: int, *, half: bool = False) -> list[list[Any]]:
    made = [
        [numbers(3, 2, seed=10 * n), numbers(5, seed=10 * n + 1), numbers(1, seed=10 * n + 2)] for n in range(count)
    ]
    return [[one.half() if half else one.float() for one in group] for group in made]


@pytest.mark.parametrize("bad", [None, math.inf, math.nan])
def test_multi_tensor_scale_and_axpby(bad: float | None) -> None:
    multi, (x, y, out) = module("multi_tensor"), _lists(3, half=True)
    flag, wanted = FLAG.clone(), [(one.double() * 0.5).half() for one in x]
    if bad is not None:
        x[1][2] = bad
        wanted[1][2] = bad
    multi.multi_tensor_scale(2048, flag, [x, out], 0.5)
    assert flag.item() == int(bad is not None)
    assert all(torch.equal(a, b) or math.isnan(bad or 0) for a, b in zip(out, wanted, strict=True))
    for check, told in ((-1, bad is not None), (0, bad is not None), (1, False)):
        flag = FLAG.clone()
        multi.multi_tensor_axpby(2048, flag, [x, y, out], 2.0, -3.0, check)
        assert flag.item() == int(told)
    close(out[0], (2 * x[0].double() - 3 * y[0].double()).half(), 1e-3)


def test_multi_tensor_l2norm() -> None:
    multi, (x,), flag = module("multi_tensor"), _lists(1), FLAG.clone()
    each = [math.sqrt(sum(v * v for v in one.flatten().tolist())) for one in x]
    norm, per_tensor = multi.multi_tensor_l2norm(2048, flag, [x], True)
    assert norm.shape == (1,)
    assert norm.item() == pytest.approx(math.sqrt(sum(v * v for v in each)))
    assert per_tensor.tolist() == pytest.approx(each)
    assert multi.multi_tensor_l2norm(2048, flag, [x], False)[1].shape == (0,)
    assert flag.item() == 0
    x[0][0, 0] = math.inf
    multi.multi_tensor_l2norm(2048, flag, [x])
    assert flag.item() == 1


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("corrected", [0, 1])
def test_multi_tensor_adam(mode: int, corrected: int, half: bool) -> None:
    multi, lists = module("multi_tensor"), _lists(4)
    lists[3] = [one.abs() for one in lists[3]]
    if half:
        lists[:2] = [[one.half() for one in group] for group in lists[:2]]
    before = [[one.double().flatten().tolist() for one in group] for group in lists]
    multi.multi_tensor_adam(2048, FLAG.clone(), lists, 0.1, 0.9, 0.99, 1e-8, 3, mode, corrected, 0.05)
    first, second = (1 - 0.9**3, 1 - 0.99**3) if corrected else (1, 1)
    for at in range(3):
        for n, (g, p, m, v) in enumerate(zip(*(group[at] for group in before), strict=True)):
            g = g + 0.05 * p if mode == 0 else g
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            way = (m / first) / (math.sqrt(v / second) + 1e-8) + (0.05 * p if mode else 0)
            now = [group[at].flatten()[n].item() for group in lists[1:]]
            assert now == pytest.approx([p - 0.1 * way, m, v], rel=2e-3 if half else 1e-5, abs=1e-3 if half else 1e-6)


@pytest.mark.parametrize("mode", [0, 1])
def test_multi_tensor_adagrad(mode: int) -> None:
    multi, lists = module("multi_tensor"), _lists(3)
    lists[2] = [one.abs() for one in lists[2]]
    before = [[one.double().flatten().tolist() for one in group] for group in lists]
    multi.multi_tensor_adagrad(2048, FLAG.clone(), lists, 0.1, 1e-8, mode, 0.05)
    for at in range(3):
        for n, (g, p, h) in enumerate(zip(*(group[at] for group in before), strict=True)):
            g = g + 0.05 * p if mode == 0 else g
            h += g * g
            way = g / (math.sqrt(h) + 1e-8) + (0.05 * p if mode else 0)
            now = [group[at].flatten()[n].item() for group in lists[1:]]
            assert now == pytest.approx([p - 0.1 * way, h], rel=1e-5, abs=1e-6)
