"""The transducer's loss against all paths one by one, and finite differences."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def of_paths(log_probs: Any, labels: list[int], frames: int, blank: int) -> float:
    """The cost of one sample: the sum over all ways through the lattice, each followed by itself."""

    def ways(t: int, u: int, so_far: float) -> list[float]:
        if t == frames - 1 and u == len(labels):
            return [so_far + float(log_probs[t, u, blank])]
        found = []
        if t < frames - 1:
            found += ways(t + 1, u, so_far + float(log_probs[t, u, blank]))
        if u < len(labels):
            found += ways(t, u + 1, so_far + float(log_probs[t, u, labels[u]]))
        return found

    return -math.log(sum(math.exp(one) for one in ways(0, 0, 0.0)))


CASES = [
    ([4, 3], [2, 1], [[1, 2], [3, 0]], 0),
    ([3, 5, 1], [3, 0, 2], [[2, 2, 1], [0, 0, 0], [1, 3, 3]], 0),
    ([2, 4], [1, 2], [[0, 3], [1, 0]], 3),
    ([3], [0], [[]], 1),
]


def given(case: tuple[Any, ...], seed: int = 0) -> tuple[Any, Any, Any, Any, int]:
    xn, yn, labels, blank = case
    scores = numbers(len(xn), max(xn), max(yn) + 1, 4, seed=seed, low=-2, high=2)
    ys = torch.tensor([one[: max(yn)] for one in labels], dtype=torch.int32).reshape(len(xn), max(yn))
    return torch.log_softmax(scores, -1), ys, torch.tensor(xn).int(), torch.tensor(yn).int(), blank


def plain(log_probs: Any, case: tuple[Any, ...]) -> Any:
    xn, yn, labels, blank = case
    return torch.tensor(
        [of_paths(log_probs[n], labels[n][: yn[n]], xn[n], blank) for n in range(len(xn))], dtype=torch.float64
    )


@pytest.mark.parametrize("case", CASES)
def test_costs_and_gradients(case: tuple[Any, ...]) -> None:
    log_probs, ys, xn, yn, blank = given(case)
    costs, grads = module("transducer_loss").rnnt_loss(xs=log_probs, ys=ys, xn=xn, yn=yn, blank=blank)
    close(costs, plain(log_probs, case))
    weight = torch.ones(len(xn), dtype=torch.float64)
    close(grads, differences(lambda one: plain(one, case), [log_probs], 0, weight), 1e-6)


@pytest.mark.parametrize("case", CASES[:2])
def test_blank_and_label_alone(case: tuple[Any, ...]) -> None:
    """Where only blank and label are given (blank -1), results are those at their places."""
    log_probs, ys, xn, yn, blank = given(case, 3)
    loss = module("transducer_loss").rnnt_loss
    index = torch.full((*log_probs.shape[:3], 2), blank)
    index[:, :, :-1, 1] = ys[:, None].long()
    costs, grads = loss(log_probs, ys, xn, yn, blank)
    small_costs, small = loss(log_probs.gather(3, index).contiguous(), ys, xn, yn, -1)
    close(small_costs, costs)
    close(torch.zeros_like(grads).scatter_add(3, index, small), grads)


def test_emissions_weigh_more_with_fastemit() -> None:
    log_probs, ys, xn, yn, blank = given(CASES[0], 5)
    loss = module("transducer_loss").rnnt_loss
    costs, grads = loss(log_probs, ys, xn, yn, blank)
    faster_costs, faster = loss(log_probs, ys, xn, yn, blank, 0.25)
    close(faster_costs, costs)
    close(faster[..., 0], grads[..., 0])
    close(faster[..., 1:], grads[..., 1:] * 1.25)


def test_a_label_that_is_the_blank_is_written_last() -> None:
    """As in the kernel: of the two gradients that fall on one number, that of the label stays."""
    case = ([2], [1], [[0]], 0)
    log_probs, ys, xn, yn, _ = given(case)
    _, grads = module("transducer_loss").rnnt_loss(log_probs, ys, xn, yn, 0)
    all_paths = -float(plain(log_probs, case)[0])
    first = log_probs[0, :, :, 0]
    emitted_first = float(first[0, 0] + first[0, 1] + first[1, 1])
    emitted_later = float(first[0, 0] + first[1, 0] + first[1, 1])
    wanted = [[emitted_first, emitted_first], [emitted_later, all_paths]]
    close(grads[0, :, :, 0], -torch.tensor(wanted, dtype=torch.float64).sub(all_paths).exp())


@pytest.mark.parametrize("case", CASES)
def test_packed(case: tuple[Any, ...]) -> None:
    log_probs, ys, xn, yn, blank = given(case, 7)
    losses = module("transducer_loss")
    lengths = list(zip(xn.tolist(), yn.tolist(), strict=True))
    packed = torch.cat([log_probs[n, :t, : u + 1].reshape(-1, 4) for n, (t, u) in enumerate(lengths)])
    words = torch.cat([ys[n, :u] for n, (_, u) in enumerate(lengths)])
    costs, kept, loc = losses.rnnt_loss_compact(xs=packed, ys=words, xn=xn, yn=yn, blank=blank, fastemit_lambda=0.5)
    wanted, grads = losses.rnnt_loss(log_probs, ys, xn, yn, blank, 0.5)
    close(costs, wanted)
    ends = torch.cumsum(xn * (yn + 1), 0, dtype=torch.int32)
    weight = torch.arange(1.0, len(xn) + 1, dtype=torch.float64)
    made = losses.rnnt_loss_compact_backward(weight, kept, ends, loc, 4, blank)
    close(
        made,
        torch.cat([(grads[n, :t, : u + 1] * weight[n]).reshape(-1, 4) for n, (t, u) in enumerate(lengths)]),
    )
    without, sums, _ = losses.rnnt_loss_compact(packed, words, xn, yn, blank, required_grad=False)
    close(without, costs)
    assert sums.shape == (len(packed),)
    close(-sums[torch.cat([ends.new_zeros(1), ends[:-1]]).long()], costs)


def test_long_samples_in_float32() -> None:
    """No path is lost where sums of logarithms are large."""
    scores = numbers(2, 120, 21, 12, low=-3, high=3)
    log_probs = torch.log_softmax(scores, -1)
    ys = torch.randint(1, 12, (2, 20), generator=torch.Generator().manual_seed(0)).int()
    xn, yn = torch.tensor([120, 77]).int(), torch.tensor([20, 11]).int()
    loss = module("transducer_loss").rnnt_loss
    wanted, slopes = loss(log_probs, ys, xn, yn)
    costs, grads = loss(log_probs.float(), ys, xn, yn)
    close(costs, wanted, 1e-5)
    close(grads, slopes, 2e-4)
    # In each frame but the last a path goes on by one blank.
    close(-slopes[0, :119, :, 0].sum(-1), torch.ones(119, dtype=torch.float64))


def test_what_cannot_be() -> None:
    """A word with probability 0 costs infinitely much, and gives no number that is none elsewhere."""
    log_probs, ys, xn, yn, blank = given(CASES[0])
    log_probs[0, :, :, 1] = float("-inf")
    costs, grads = module("transducer_loss").rnnt_loss(log_probs, ys, xn, yn, blank)
    assert math.isinf(float(costs[0]))
    assert float(costs[1]) == pytest.approx(of_paths(log_probs[1], [3], 3, blank))
    assert not bool(torch.isnan(grads[1]).any())
