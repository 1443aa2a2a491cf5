"""selective_scan and causal_conv1d against loops over time in double precision."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch

# --- selective_scan ---


def _scan(u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any, bias: Any, softplus: bool) -> tuple[Any, Any]:
    """One time after the other; what comes out, and the last state."""
    batch, rows, time = u.shape
    per_step, of_step = rows // delta.shape[1], []
    out, states = torch.zeros_like(u), torch.zeros(batch, rows, a.shape[1], dtype=torch.float64)
    for t, row in itertools.product(range(time), range(rows)):
        step = delta[:, row // per_step, t] + (bias[row // per_step] if bias is not None else 0)
        if softplus:
            step = torch.where(step > 20, step, torch.log1p(torch.exp(step)))
        of_step.append(step)
        in_b, in_c = (
            one[row][None] if one.dim() == 2 else one[:, row // (rows // one.shape[1]), :, t] for one in (b, c)
        )
        states[:, row] = torch.exp(step[:, None] * a[row]) * states[:, row] + step[:, None] * in_b * u[:, row, t, None]
        out[:, row, t] = (states[:, row] * in_c).sum(-1) + (d[row] * u[:, row, t] if d is not None else 0)
    return out, states.clone()


def _given(time: int, groups: int, steps: int = 4) -> list[Any]:
    rows, states = 4, 3
    fixed = groups == 0
    return [
        numbers(2, rows, time, seed=1),
        numbers(2, steps, time, seed=2, low=-2, high=1),
        -torch.exp(numbers(rows, states, seed=3)),
        numbers(rows, states, seed=4) if fixed else numbers(2, groups, states, time, seed=4),
        numbers(rows, states, seed=5) if fixed else numbers(2, groups, states, time, seed=5),
        numbers(rows, seed=6),
        numbers(steps, seed=7),
    ]


@pytest.mark.parametrize(
    ("time", "groups", "softplus", "bare"),
    [(1, 1, True, False), (5, 2, True, False), (130, 4, False, True), (9, 0, True, False), (300, 1, True, True)],
)
def test_selective_scan(time: int, groups: int, softplus: bool, bare: bool) -> None:
    scan, given = module("selective_scan"), _given(time, groups)
    if bare:
        given[5:] = [None, None]
    wanted, last = _scan(*given, softplus)
    out, states = scan.fwd(*given[:6], None, given[6], softplus)
    close(out, wanted)
    assert states.shape == (2, 4, 1, 6)
    close(states[:, :, -1, 1::2], last)
    if time > 10:
        return
    grad = numbers(2, 4, time, seed=9)
    made = scan.bwd(*given[:6], None, given[6], grad, states, None, None, softplus, False)
    for which, one in enumerate(given):
        if one is None:
            assert made[which] is None
        else:
            along(lambda *now: _scan(*now, softplus)[0], given, which, grad, made[which])


def test_a_backward_pass_over_parts() -> None:
    """The state between parts of 128 carries gradients."""
    scan, given = module("selective_scan"), _given(260, 1)
    grad = numbers(2, 4, 260, seed=9)
    made = scan.bwd(*given[:6], None, given[6], grad, None, None, None, True, False)
    leaves = [one.clone().requires_grad_() for one in given]
    delta = torch.nn.functional.softplus(leaves[1] + leaves[6][:, None])
    state, outs = torch.zeros(2, 4, 3, dtype=torch.float64), []
    for t in range(260):
        step = delta[..., t, None]
        state = torch.exp(step * leaves[2]) * state + step * leaves[3][..., t] * leaves[0][..., t, None]
        outs.append((state * leaves[4][..., t]).sum(-1) + leaves[5] * leaves[0][..., t])
    wanted = torch.autograd.grad(torch.stack(outs, -1), leaves, grad)
    for one, two in zip(made, wanted, strict=True):
        close(one, two, 1e-8)


def test_the_gate_of_selective_scan() -> None:
    scan, given, z = module("selective_scan"), _given(6, 1), numbers(2, 4, 6, seed=8, low=-3, high=3)

    def gated(*now: Any) -> Any:
        return _scan(*now[:7], True)[0] * now[7] * torch.sigmoid(now[7])

    out, states, out_z = scan.fwd(*given[:6], z, given[6], True)
    close(out_z, gated(*given, z))
    grad, dz = numbers(2, 4, 6, seed=9), torch.empty_like(z)
    made = scan.bwd(*given[:6], z, given[6], grad, states, out, dz, True, True)
    assert made[7] is dz
    close(made[8], out_z)
    for which in range(8):
        along(gated, [*given, z], which, grad, made[which])


def test_states_are_kept_after_each_2048_times() -> None:
    scan, given = module("selective_scan"), _given(2050, 1)
    _, states = scan.fwd(*given[:6], None, given[6], True)
    _, before = _scan(*[one[..., :2048] if one.dim() > 2 else one for one in given], True)
    assert states.shape == (2, 4, 2, 6)
    close(states[:, :, 0, 1::2], before, 1e-8)
    steps = torch.nn.functional.softplus(given[1] + given[6][:, None]).sum(-1)
    close(states[:, :, 1, 0::2], torch.exp(steps[..., None] * given[2]))


def test_the_forms_of_vmamba() -> None:
    scan, given = module("selective_scan"), _given(7, 2, steps=2)
    out, states = scan.fwd_float(*given, True, 1, True)
    assert out.dtype == torch.float32
    close(out, _scan(*given, True)[0], 1e-6)
    grad = numbers(2, 4, 7, seed=9)
    made = scan.bwd_rows(*given, grad, states, True, 1)
    for which in range(7):
        along(lambda *now: _scan(*now, True)[0], given, which, grad, made[which])
    given = _given(7, 1)
    close(scan.fwd_rows(*given, True, 1)[0], _scan(*given, True)[0])


def test_selective_scan_in_half_precision() -> None:
    """Computed in float32, and rounded once."""
    scan, given = module("selective_scan"), _given(40, 1)
    half = [one.to(torch.bfloat16) if one.dim() > 2 else one.float() for one in given]
    out, states = scan.fwd(*half[:6], None, half[6], True)
    assert (out.dtype, states.dtype) == (torch.bfloat16, torch.float32)
    close(out, _scan(*[one.double() for one in half], True)[0], 8e-3)
    grads = scan.bwd(*half[:6], None, half[6], out, states, None, None, True, False)
    assert [one.dtype for one in grads] == [one.dtype for one in half]


def test_a_complex_a_is_refused() -> None:
    given = _given(3, 1)
    given[2] = given[2].to(torch.complex128)
    with pytest.raises(NotImplementedError):
        module("selective_scan").fwd(*given[:6], None, given[6], True)


# --- causal_conv1d ---


def _convolved(
    x: Any, weight: Any, bias: Any, begin: Any, of: Any = None, silu: bool = True, zero: bool = False
) -> Any:
    batch, rows, time = x.shape
    taps = weight.shape[1]
    out = torch.zeros_like(x)
    for n, c, t in itertools.product(range(batch), range(rows), range(time)):
        total = bias[c].clone() if bias is not None else torch.zeros((), dtype=torch.float64)
        for tap in range(taps):
            at = t + tap - (taps - 1)
            value = x[n, c, at] if at >= 0 else (begin[n, c, at + taps - 1] if begin is not None else 0)
            here, there = (0, 0) if of is None else (of[n, t].item(), of[n, at].item() if at >= 0 else -1)
            total = total + (weight[c, tap] * value if here == there else 0)
        out[n, c, t] = total / (1 + math.exp(-total)) if silu else total
        if zero and of is not None and of[n, t] < 0:
            out[n, c, t] = 0
    return out


@pytest.mark.parametrize(("time", "taps", "silu"), [(1, 2, True), (2, 4, False), (7, 3, True)])
@pytest.mark.parametrize("with_bias", [True, False])
def test_causal_conv1d(time: int, taps: int, silu: bool, with_bias: bool) -> None:
    conv, x, weight = module("causal_conv1d"), numbers(2, 3, time), numbers(3, taps, seed=1)
    bias, begin = numbers(3, seed=2) if with_bias else None, numbers(2, 3, taps - 1, seed=3)
    out, end = torch.empty_like(x), torch.empty_like(begin)
    conv.causal_conv1d_fwd(x, weight, bias, None, begin, out, end, silu)
    close(out, _convolved(x, weight, bias, begin, silu=silu))
    close(end, torch.cat([begin, x], -1)[..., -(taps - 1) :])
    grad, dend = numbers(2, 3, time, seed=4), numbers(2, 3, taps - 1, seed=5)
    dx, dw, db = torch.empty_like(x), torch.ones_like(weight), torch.ones(3, dtype=torch.float64)
    dbegin = torch.empty_like(begin)
    conv.causal_conv1d_bwd(x, weight, bias, grad, None, begin, dend, dx, dw, db if with_bias else None, dbegin, silu)

    def both(*now: Any) -> Any:
        made = _convolved(now[0], now[1], now[2], now[3], silu=silu)
        return torch.cat([made, torch.cat([now[3], now[0]], -1)[..., -(taps - 1) :]], -1)

    given, weights = [x, weight, bias, begin], torch.cat([grad, dend], -1)
    for which, made in ((0, dx), (1, dw - 1), (2, db - 1), (3, dbegin)):
        if given[which] is not None:
            along(both, given, which, weights, made)
    older = conv.bwd_with_states(x, weight, bias, grad, None, begin, dend, None, True, silu)
    for one, two in zip(older, (dx, dw - 1, db - 1 if with_bias else None, dbegin), strict=True):
        assert (one is None) == (two is None)
        if two is not None:
            close(one, two)


def test_sequences_beside_each_other() -> None:
    conv, x, weight, bias = module("causal_conv1d"), numbers(2, 3, 8), numbers(3, 4, seed=1), numbers(3, seed=2)
    of = torch.tensor([[0, 0, 1, 1, 1, 2, -1, -1], [0, 0, 0, 0, 0, 0, 1, 1]], dtype=torch.int32)
    close(conv.fwd_with_sequences(x, weight, bias, of, True), _convolved(x, weight, bias, None, of))
    out = torch.empty_like(x)
    conv.fwd_padded(x, weight, bias, of, None, out, None, True)
    close(out, _convolved(x, weight, bias, None, of, zero=True))
    grad = numbers(2, 3, 8, seed=4)
    for which, made in enumerate(conv.bwd_with_sequences(x, weight, bias, grad, of, None, True)):
        along(lambda *now: _convolved(*now, None, of), [x, weight, bias], which, grad, made)


@pytest.mark.parametrize(("time", "length"), [(1, 3), (1, 4), (2, 5), (6, 4)])
def test_one_step_of_causal_conv1d(time: int, length: int) -> None:
    conv, x, weight, bias = module("causal_conv1d"), numbers(2, 3, time), numbers(3, 4, seed=1), numbers(3, seed=2)
    state = numbers(2, 3, length, seed=3)
    wanted, after = _convolved(x, weight, bias, state[..., -3:]), torch.cat([state, x], -1)[..., -length:]
    moved = state.clone()
    close(conv.update_with_lengths(x, moved, weight, bias, True, None), wanted)
    close(moved, after)
    if time == 1 and length == 4:
        moved = state.clone()
        close(conv.update_plain(x[..., 0], moved, weight, bias, True), wanted[..., 0])
        close(moved, after)


def test_a_state_that_is_written_around() -> None:
    conv, x, weight, bias = module("causal_conv1d"), numbers(2, 3, 2), numbers(3, 4, seed=1), numbers(3, seed=2)
    state, lengths = numbers(2, 3, 5, seed=3), torch.tensor([6, 4], dtype=torch.int32)
    begin = torch.stack([state[0][:, [3, 4, 0]], state[1][:, [1, 2, 3]]])
    after = state.clone()
    after[0][:, [1, 2]], after[1][:, [4, 0]] = x[0], x[1]
    close(conv.update_with_rows(x, state, weight, bias, True, lengths, None), _convolved(x, weight, bias, begin))
    close(state, after)


def test_rows_of_the_state_that_are_chosen() -> None:
    conv, x, weight = module("causal_conv1d"), numbers(3, 2, 1), numbers(2, 3, seed=1)
    state, rows, out = (
        numbers(5, 2, 3, seed=3),
        torch.tensor([4, -1, 0], dtype=torch.int32),
        torch.empty(3, 2, 1).double(),
    )
    before = state.clone()
    conv.causal_conv1d_update(x, state, weight, None, out, False, None, rows)
    close(out[[0, 2]], _convolved(x[[0, 2]], weight, None, before[[4, 0]][..., -2:], silu=False))
    assert out[1].abs().sum() == 0
    close(state[[1, 2, 3]], before[[1, 2, 3]])
    close(state[[4, 0]], torch.cat([before[[4, 0]], x[[0, 2]]], -1)[..., -3:])
