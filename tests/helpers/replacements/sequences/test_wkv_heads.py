"""RWKV's sums of versions 5 to 7 against loops over times, in double precision."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch

SIZES = pytest.mark.parametrize(("time", "heads", "size"), [(1, 1, 4), (2, 2, 4), (7, 1, 4), (35, 2, 4)])


def _gated(r: Any, k: Any, v: Any, decay: Any, u: Any, state: Any) -> Any:
    """(batch, time, heads, size), the decay too; the state (batch, heads, value, key)."""
    outs = []
    for t in range(r.shape[1]):
        now = v[:, t, :, :, None] * k[:, t, :, None, :]
        outs.append(((state + u[..., None, :] * now) * r[:, t, :, None, :]).sum(-1))
        state = state * decay[:, t, :, None, :] + now
    return torch.stack(outs, 1)


def _delta(r: Any, decay: Any, k: Any, v: Any, a: Any, b: Any, state: Any) -> tuple[Any, Any, list[Any]]:
    outs, moved, states = [], [], []
    for t in range(r.shape[1]):
        found = (state * a[:, t, :, None, :]).sum(-1)
        state = state * decay[:, t, :, None, :] + found[..., None] * b[:, t, :, None, :]
        state = state + v[:, t, :, :, None] * k[:, t, :, None, :]
        outs.append((state * r[:, t, :, None, :]).sum(-1))
        moved.append(found)
        states.append(state)
    return torch.stack(outs, 1), torch.stack(moved, 1), states


def _given(time: int, heads: int, size: int, count: int) -> list[Any]:
    return [numbers(2, time, heads, size, seed=seed) for seed in range(count)]


@SIZES
def test_version_5(time: int, heads: int, size: int) -> None:
    made, channels = module("wkv_heads"), heads * size
    r, k, v, gy = _given(time, heads, size, 4)
    raw, u = numbers(heads, size, seed=8, low=-3, high=2), numbers(heads, size, seed=9)

    def whole(r: Any, k: Any, v: Any, raw: Any, u: Any) -> Any:
        decay = torch.exp(-torch.exp(raw)).expand(2, time, heads, size)
        return _gated(r, k, v, decay, u, torch.zeros(2, heads, size, size, dtype=torch.float64))

    exponent, y = -torch.exp(raw), torch.empty(2, time, channels, dtype=torch.float64)
    flat = [one.reshape(2, time, channels) for one in (r, k, v)]
    made.forward5(2, time, channels, heads, *flat, torch.exp(exponent), u, y)
    close(y.reshape(r.shape), whole(r, k, v, raw, u), 1e-8)
    grads = [torch.empty(2, time, channels, dtype=torch.float64) for _ in range(3)]
    grads += [torch.empty(2, channels, dtype=torch.float64) for _ in range(2)]
    made.backward5(2, time, channels, heads, *flat, torch.exp(exponent), exponent, u, gy, *grads)
    shaped = [one.reshape(r.shape) for one in grads[:3]] + [one.sum(0).reshape(heads, size) for one in grads[3:]]
    for which, one in enumerate(shaped):
        along(whole, [r, k, v, raw, u], which, gy, one, 1e-4)


@SIZES
@pytest.mark.parametrize("form", ["6", "6_of_exponents", "6_from_state"])
def test_version_6(form: str, time: int, heads: int, size: int) -> None:
    made, channels = module("wkv_heads"), heads * size
    r, k, v, gy = _given(time, heads, size, 4)
    raw, u = numbers(2, time, heads, size, seed=8, low=-3, high=2), numbers(heads, size, seed=9)
    state = numbers(2, heads, size, size, seed=10) if form.endswith("state") else None

    def whole(r: Any, k: Any, v: Any, raw: Any, u: Any, *start: Any) -> Any:
        begin = start[0] if start else torch.zeros(2, heads, size, size, dtype=torch.float64)
        return _gated(r, k, v, torch.exp(-torch.exp(raw)), u, begin)

    inputs = [r, k, v, raw, u] + ([state] if state is not None else [])
    given = [r, k, v, -torch.exp(raw) if form.endswith("exponents") else raw, u, *inputs[5:]]
    y = torch.empty(2, time, channels, dtype=torch.float64)
    getattr(made, f"forward{form}")(2, time, channels, heads, *given, y)
    close(y.reshape(r.shape), whole(*inputs), 1e-8)
    grads = [torch.empty(2, time, channels, dtype=torch.float64) for _ in range(4)]
    grads += [torch.empty(2, channels, dtype=torch.float64)]
    grads += [torch.empty_like(state)] if state is not None else []
    getattr(made, f"backward{form}")(2, time, channels, heads, *given, gy, *grads)
    shaped = [one.reshape(r.shape) for one in grads[:4]] + [grads[4].sum(0).reshape(heads, size), *grads[5:]]
    for which, one in enumerate(shaped):
        along(whole, inputs, which, gy, one, 1e-4)


def test_one_state_for_the_whole_batch() -> None:
    """RWKV's own code gives it so, and the kernel reads behind it for all but the first."""
    made, (r, k, v) = module("wkv_heads"), _given(7, 2, 4, 3)
    raw, u, state = numbers(2, 7, 2, 4, seed=8), numbers(2, 4, seed=9), numbers(2, 4, 4, seed=10)
    y, grad = torch.empty(2, 7, 8, dtype=torch.float64), numbers(2, 7, 2, 4, seed=11)
    made.forward6_from_state(2, 7, 8, 2, r, k, v, raw, u, state, y)
    close(y.reshape(r.shape), _gated(r, k, v, torch.exp(-torch.exp(raw)), u, state.expand(2, -1, -1, -1)), 1e-8)
    grads = [torch.empty(2, 7, 8).double() for _ in range(4)] + [
        torch.empty(2, 8).double(),
        torch.empty(2, 2, 4, 4).double(),
    ]
    made.backward6_from_state(2, 7, 8, 2, r, k, v, raw, u, state, grad, *grads)

    def whole(state: Any) -> Any:
        return _gated(r, k, v, torch.exp(-torch.exp(raw)), u, state.expand(2, -1, -1, -1))

    along(whole, [state], 0, grad, grads[5].sum(0), 1e-4)


@SIZES
def test_version_7(time: int, heads: int, size: int) -> None:
    made = module("wkv_heads")
    r, k, v, a, b, gy = _given(time, heads, size, 6)
    raw = numbers(2, time, heads, size, seed=8, low=-3, high=1)
    start = torch.zeros(2, heads, size, size, dtype=torch.float64)

    def whole(r: Any, raw: Any, k: Any, v: Any, a: Any, b: Any) -> Any:
        return _delta(r, torch.exp(-torch.exp(raw)), k, v, a, b, start)

    inputs = [r, raw, k, v, a, b]
    order = [1, 0, 2, 3, 4, 5]
    y, sa = torch.empty_like(r), torch.empty_like(r)
    s = torch.full((2, heads, time // 16, size, size), 7.0, dtype=torch.float64)
    given = [inputs[one] for one in order]
    made.backstepping_forward(*given, y, s, sa)
    out, moved, states = whole(*inputs)
    close(y, out, 1e-8)
    close(sa, moved, 1e-8)
    if time % 16 == 0:
        for part in range(time // 16):
            close(s[:, :, part].transpose(-1, -2), states[part * 16 + 15], 1e-8)
    grads = [torch.empty_like(r) for _ in range(6)]
    made.backstepping_backward(*given, gy, s, sa, *grads)
    for place, one in zip(order, grads, strict=True):
        along(lambda *inputs: whole(*inputs)[0], inputs, place, gy, one, 1e-4)


def test_states_at_the_ends_of_parts() -> None:
    test_version_7(32, 2, 4)
    test_version_7(48, 1, 4)


@SIZES
def test_version_7_of_inference(time: int, heads: int, size: int) -> None:
    made, channels = module("wkv_heads"), heads * size
    r, k, v, a, b = _given(time, heads, size, 5)
    raw = numbers(2, time, heads, size, seed=8, low=-3, high=1)
    start = numbers(2, heads, size, size, seed=9)
    y = torch.empty(2, time, channels, dtype=torch.float64)
    made.forward7(2, time, channels, heads, r, raw, k, v, a, b, y)
    close(y.reshape(r.shape), _delta(r, torch.exp(-torch.exp(raw)), k, v, a, b, torch.zeros_like(start))[0], 1e-8)
    one = [tensor[:1] for tensor in (r, raw, k, v, a, b)]
    state, y = start[0].clone(), torch.empty(1, time, channels, dtype=torch.float64)
    made.forward7_from_state(1, time, channels, heads, state, *one, y)
    out, _, states = _delta(one[0], torch.exp(-torch.exp(one[1])), *one[2:], start[:1])
    close(y.reshape(out.shape), out, 1e-8)
    close(state, states[-1][0], 1e-8)


def test_half_precision_and_decays_that_leave_nothing() -> None:
    """A decay that is 0 in float32 once gave what is no number."""
    made = module("wkv_heads")
    r, k, v = (one.reshape(2, 20, 8).bfloat16() for one in _given(20, 2, 4, 3))
    w, u = torch.full((2, 20, 8), 9.0, dtype=torch.bfloat16), torch.ones(8, dtype=torch.bfloat16)
    y = torch.empty_like(r)
    made.forward6(2, 20, 8, 2, r, k, v, w, u, y)
    four = [one.double().reshape(2, 20, 2, 4) for one in (r, k, v)]
    nothing = torch.zeros_like(four[0])
    wanted = _gated(*four, nothing, torch.ones(2, 4).double(), nothing.new_zeros(2, 2, 4, 4)).flatten(2)
    close(y.float(), wanted, 2e-2)
    made.forward5(2, 20, 8, 2, r, k, v, torch.zeros(8), u, y)
    close(y.float(), wanted, 2e-2)
