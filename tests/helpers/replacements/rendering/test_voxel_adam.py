"""Steps of Adam against a loop over numbers, in double precision."""

from __future__ import annotations

import math

import pytest

from tests.helpers.replacements.common import close, module, numbers


@pytest.mark.parametrize("form", ["adam_upd", "masked_adam_upd", "adam_upd_with_perlr"])
def test_steps(form: str) -> None:
    given = [numbers(3, 4, seed=seed, low=0.1 if seed == 3 else -1, high=1) for seed in range(4)]
    given[1][0, :2] = 0
    rates = numbers(3, 4, seed=5, low=0, high=1)
    wanted = [one.clone() for one in given]
    for at in [(row, column) for row in range(3) for column in range(4)]:
        p, g, m, v = (one[at].item() for one in given)
        if form == "masked_adam_upd" and g == 0:
            continue
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        rate = 0.1 * math.sqrt(1 - 0.99**3) / (1 - 0.9**3) * (rates[at].item() if form.endswith("perlr") else 1)
        p -= rate * m / (math.sqrt(v) + 1e-8)
        for one, value in zip((wanted[0], wanted[2], wanted[3]), (p, m, v), strict=True):
            one[at] = value
    more = [rates] if form.endswith("perlr") else []
    getattr(module("voxel_adam"), form)(*given, *more, 3, 0.9, 0.99, 0.1, 1e-8)
    for one, other in zip(given, wanted, strict=True):
        close(one, other)
