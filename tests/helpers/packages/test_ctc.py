"""What takes warpctc_pytorch's place, against a sum over all ways to read the labels."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from npuify.helpers.packages import ctc
from tests.helpers.replacements.common import close, differences, numbers, torch

LABELS, LENGTHS, SIZES = [1, 2, 2], [4, 3], [2, 1]
"""The first sequence reads 1 2 in four places, the second 2 in three."""


def _read(way: tuple[int, ...], blank: int) -> list[int]:
    return [one for one, _ in itertools.groupby(way) if one != blank]


def _loss(acts: Any, blank: int = 0) -> Any:
    labels, total, start = [one if blank == 0 else one - 1 for one in LABELS], acts.new_zeros(()), 0
    for row, (length, size) in enumerate(zip(LENGTHS, SIZES, strict=True)):
        shares = acts[:length, row].softmax(1)
        wanted = labels[start : start + size]
        ways = [way for way in itertools.product(range(3), repeat=length) if _read(way, blank) == wanted]
        total = total - sum(math.prod(shares[at, one] for at, one in enumerate(way)) for way in ways).log()
        start += size
    return total


@pytest.mark.parametrize("options", [{}, {"size_average": True}, {"length_average": True}, {"blank": 2}])
def test_loss(options: dict[str, Any]) -> None:
    acts = numbers(4, 2, 3, low=-2, high=2)
    blank = options.get("blank", 0)
    labels = torch.tensor(LABELS, dtype=torch.int32) - (1 if blank else 0)
    lengths, sizes = torch.tensor(LENGTHS, dtype=torch.int32), torch.tensor(SIZES, dtype=torch.int32)
    part = 2 if "size_average" in options else 7 if "length_average" in options else 1
    given = acts.clone().requires_grad_()
    made = ctc.CTCLoss(**options)(given, labels, lengths, sizes)
    assert made.shape == (1,)
    close(made[0], _loss(acts, blank) / part, 1e-5)
    made.backward()
    close(given.grad, differences(lambda x: _loss(x, blank) / part, [acts], 0, torch.tensor(1.0)), 1e-5)
