"""multi_tensor's steps of SGD, LAMB and NovoGrad against loops over numbers, in double precision."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.replacements.common import module, torch
from tests.helpers.replacements.training.test_training import FLAG, _lists


def _plain(lists: list[list[Any]]) -> list[list[list[float]]]:
    return [[one.double().flatten().tolist() for one in group] for group in lists]


def _same(made: Any, wanted: list[float], *, half: bool = False) -> None:
    assert made.flatten().tolist() == pytest.approx(wanted, rel=2e-3 if half else 2e-5, abs=1e-3 if half else 2e-6)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("first_run", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("form", ["float", "half", "copies", "skipped"])
def test_sgd(momentum: float, nesterov: bool, first_run: bool, after: bool, form: str) -> None:
    multi, lists, half = module("multi_tensor"), _lists(3), form == "half"
    if half:
        lists = [[one.half() for one in group] for group in lists]
    if form == "copies":
        lists.append([torch.zeros_like(one, dtype=torch.float16) for one in lists[1]])
        lists[0] = [one.half() for one in lists[0]]
    before, flag = _plain(lists), FLAG.clone()
    flag[0] = int(form == "skipped")
    multi.multi_tensor_sgd(2048, flag, lists, 0.05, momentum, 0.1, 0.2, nesterov, first_run, after, 0.5)
    for at in range(3):
        moved, momenta = [], []
        for g, p, m in zip(*(group[at] for group in before[:3]), strict=True):
            g *= 0.5
            if form == "skipped":
                moved.append(p)
                momenta.append(m)
                continue
            if not after:
                g += 0.05 * p
            if momentum:
                m = g if first_run else m * momentum + 0.9 * g
                g = g + momentum * m if nesterov else m
            if after:
                g += 0.05 * p
            moved.append(p - 0.2 * g)
            momenta.append(m)
        _same(lists[1][at], moved, half=half)
        _same(lists[2][at], momenta, half=half)
        if form == "copies":
            _same(lists[3][at], moved, half=True)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("averaging", [0, 1])
@pytest.mark.parametrize(("decay", "everywhere"), [(0.0, None), (0.05, None), (0.0, True)])
@pytest.mark.parametrize("norm", [0.5, 4.0])
def test_lamb(mode: int, averaging: int, decay: float, everywhere: bool | None, norm: float) -> None:
    multi, lists = module("multi_tensor"), _lists(4)
    lists[3] = [one.abs() for one in lists[3]]
    lists[1][2].zero_()  # parameters without a length
    before = _plain(lists)
    given = (0.1, 0.9, 0.99, 1e-6, 3, 1, decay, averaging, mode, torch.tensor([norm]), 1.0, everywhere)
    multi.multi_tensor_lamb(2048, FLAG.clone(), lists, *given)
    first, second = 1 - 0.9**3, 1 - 0.99**3
    for at in range(3):
        ways, ms, vs = [], [], []
        for g, p, m, v in zip(*(group[at] for group in before), strict=True):
            g /= norm if norm > 1 else 1
            if mode == 0:
                g += decay * p
            m, v = 0.9 * m + (0.1 if averaging else 1) * g, 0.99 * v + 0.01 * g * g
            ways.append((m / first) / (math.sqrt(v / second) + 1e-6) + (decay * p if mode else 0))
            ms.append(m)
            vs.append(v)
        lengths = [math.sqrt(sum(one * one for one in values)) for values in (before[1][at], ways)]
        rate = 0.1 * (lengths[0] / lengths[1] if all(lengths) and (decay or everywhere) else 1)
        _same(lists[1][at], [p - rate * way for p, way in zip(before[1][at], ways, strict=True)])
        for group, wanted in ((0, ways), (2, ms), (3, vs)):
            _same(lists[group][at], wanted)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("kind", [0, 2])
@pytest.mark.parametrize(("corrected", "averaging"), [(0, 0), (1, 1)])
def test_novograd(mode: int, kind: int, corrected: int, averaging: int) -> None:
    multi, lists, norms = module("multi_tensor"), _lists(3), torch.tensor([0.5, 0.2, 1.5])
    before, old = _plain(lists), norms.tolist()
    multi.multi_tensor_novograd(
        2048, FLAG.clone(), lists, norms, 0.1, 0.9, 0.99, 1e-8, 3, corrected, 0.05, averaging, mode, kind
    )
    first, second = (1 - 0.9**3, math.sqrt(1 - 0.99**3)) if corrected else (1, 1)
    for at in range(3):
        g_all = before[0][at]
        if kind == 0:
            norm = 0.99 * old[at] + 0.01 * max(abs(g) for g in g_all)
        else:
            norm = math.sqrt(0.99 * old[at] ** 2 + 0.01 * sum(g * g for g in g_all))
        assert norms[at].item() == pytest.approx(norm, rel=1e-5)
        below, own = norm / second + 1e-8, 0.1 if averaging else 1.0
        moved, moments = [], []
        for g, p, m in zip(g_all, before[1][at], before[2][at], strict=True):
            if mode == 0:
                m = 0.9 * m + own * (g / below + 0.05 * p)
                way = m / first
            else:
                m = 0.9 * m + own * g
                way = m / first / below + 0.05 * p
            moved.append(p - 0.1 * way)
            moments.append(m)
        _same(lists[1][at], moved)
        _same(lists[2][at], moments)


def test_parameters_that_want_gradients_are_moved() -> None:
    """apex's FusedSGD steps without ``no_grad``, since a kernel knows nothing of it; that was an error."""
    multi, lists = module("multi_tensor"), _lists(4)
    lists[1] = [one.requires_grad_() for one in lists[1]]
    before = [one.detach().clone() for one in lists[1]]
    multi.multi_tensor_sgd(2048, FLAG.clone(), lists[:3], 0.0, 0.0, 0.0, 0.2, False, True, False, 1.0)
    for now, old, grad in zip(lists[1], before, lists[0], strict=True):
        _same(now.detach(), (old - 0.2 * grad).flatten().tolist())
        assert now.requires_grad
    given = [one.requires_grad_() for one in (torch.ones(3), torch.ones(3))]
    state = torch.zeros(3), torch.zeros(3)
    module("voxel_adam").adam_upd(given[0], given[1].detach(), *state, 1, 0.9, 0.99, 0.1, 1e-8)
    assert not torch.equal(given[0].detach(), torch.ones(3))
