"""SRU's recurrence against a loop over times and numbers in double precision."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch

TIME, BATCH, SIZE = 4, 2, 3


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _loop(given: dict[str, Any], both: bool, activation: int, skip: int) -> tuple[Any, Any]:
    """Number by number, as the paper has it."""
    u, x, weight, bias = given["u"], given["x"], given["weight"], given["bias"]
    columns = SIZE * (2 if both else 1)
    h, c = torch.zeros(TIME, BATCH, columns).double(), torch.zeros(TIME, BATCH, columns).double()
    for b, j in itertools.product(range(BATCH), range(columns)):
        state = given["init"][b, j].item()
        mask = 1.0 if given["mask"] is None else given["mask"][b, j].item()
        times = range(TIME) if j < SIZE else reversed(range(TIME))
        for t in times:
            if given["pad"] is None or not given["pad"][t, b]:
                parts = u[t, b, j]
                v = weight[t, b, j] if weight.dim() > 2 else weight[:, j]
                forget = _sigmoid((parts[1] + v[0] * state + bias[0, j]).item())
                reset = _sigmoid((parts[2] + v[1] * state + bias[1, j]).item())
                state = state * forget + parts[0].item() * (1 - forget)
                value = math.tanh(state) if activation else state
                beside = 0.0 if not skip else (x[t, b, j].item() if skip == 1 else parts[3].item())
                h[t, b, j] = value * mask * reset + beside * (1 - mask * reset if skip else 0)
            c[t, b, j] = state
    return h, c


def _given(both: bool, skip: int, custom: bool, masked: bool) -> dict[str, Any]:
    columns, k = SIZE * (2 if both else 1), 4 if skip == 2 else 3
    pad = torch.zeros(TIME, BATCH, dtype=torch.bool)
    pad[2:, 1] = True
    return {
        "u": numbers(TIME, BATCH, columns, k, seed=1),
        "x": numbers(TIME, BATCH, columns, seed=2) if skip == 1 else None,
        "weight": numbers(TIME, BATCH, columns, 2, seed=3) if custom else numbers(2, columns, seed=3),
        "bias": numbers(2, columns, seed=4),
        "init": numbers(BATCH, columns, seed=5),
        "mask": numbers(BATCH, columns, seed=6, low=0.5, high=2) if masked else None,
        "pad": pad if masked else None,
    }


def _arguments(given: dict[str, Any], custom: bool) -> tuple[Any, ...]:
    """As the Python of the project hands them over: flat."""
    weight = given["weight"].reshape(TIME, BATCH, -1) if custom else given["weight"].reshape(-1)
    u = given["u"].flatten(2)
    return u, given["x"], weight, given["bias"].reshape(-1), given["init"], given["mask"], given["pad"]


@pytest.mark.parametrize("both", [False, True], ids=["one way", "both ways"])
@pytest.mark.parametrize(
    ("activation", "skip", "custom", "masked"),
    [
        (0, 1, False, False),
        (0, 1, False, True),
        (1, 1, True, True),
        (1, 2, False, False),
        (0, 2, True, True),
        (1, 0, False, True),
    ],
)
def test_forward_and_backward(both: bool, activation: int, skip: int, custom: bool, masked: bool) -> None:
    sru, given = module("sru"), _given(both, skip, custom, masked)
    arguments, way = _arguments(given, custom), "bi_" if both else ""
    k = 4 if skip == 2 else 3
    sizes = (TIME, BATCH, SIZE, k, activation, skip, int(custom))
    h, c = getattr(sru, f"sru_{way}forward")(*arguments, *sizes)
    wanted, states = _loop(given, both, activation, skip)
    close(h, wanted)
    close(c, states)
    of_h, last = numbers(*h.shape, seed=7), numbers(*given["init"].shape, seed=8)
    made = getattr(sru, f"sru_{way}backward")(*arguments, c, of_h, last, *sizes)
    names = ("u", "weight", "bias", "init", *(("x",) if skip == 1 else ()))

    def run(*inputs: Any) -> Any:
        out, all_states = _loop({**given, **dict(zip(names, inputs, strict=True))}, both, activation, skip)
        end = torch.cat([all_states[-1, :, :SIZE], all_states[0, :, SIZE:]], 1) if both else all_states[-1]
        return torch.cat([out.flatten(), end.flatten()])

    weight = torch.cat([of_h.flatten(), last.flatten()])
    of_weight = made[2].reshape(given["weight"].shape) if custom else made[2].sum(1)
    found = {"u": made[0].reshape(given["u"].shape), "x": made[1], "weight": of_weight}
    found |= {"bias": made[3].sum(1), "init": made[4]}
    for which, name in enumerate(names):
        along(run, [given[one] for one in names], which, weight, found[name])
    if skip != 1:
        assert made[1].shape == (1,)
    if not activation and skip == 1 and not custom:
        short = getattr(sru, f"sru_{way}forward_simple")(*arguments, TIME, BATCH, SIZE)
        assert all(torch.equal(one, other) for one, other in zip(short, (h, c), strict=True))
        again = getattr(sru, f"sru_{way}backward_simple")(*arguments, c, of_h, last, TIME, BATCH, SIZE)
        assert all(torch.equal(one, other) for one, other in zip(again, made, strict=True))


def test_a_script_calls_it() -> None:
    """The project calls the operators from TorchScript."""
    sru, given = module("sru"), _given(False, 1, False, False)
    u, x, weight, bias, init, _, _ = _arguments(given, False)

    @torch.jit.script
    def run(u: torch.Tensor, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        h, _c = FORWARD(u, x, w, b, i, None, None, 4, 2, 3)
        return h

    close(run(u, x, weight, bias, init), sru.sru_forward_simple(u, x, weight, bias, init, None, None, 4, 2, 3)[0])


FORWARD = module("sru").sru_forward_simple
