# mypy: ignore-errors
"""The sums over time of RWKV's versions 5, 6 and 7, which keep a matrix for each head, forward and backward.

Times are computed in parts of 16: within a part all pairs of times together, from part to part one after the other. A
decay is the exponential of a sum of exponents that are never above 0, so that nothing grows; for each time and channel
16 such numbers are held. The backward pass computes the forward pass again. Half precision is computed in float32.
"""

import torch

_PART = 16
_LEAST = -100.0
"""An exponent below which nothing is left in float32; larger ones would cost the others of a part their digits."""


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _heads(tensor, B, T, H):
    """(batch, time, channels) as (batch, heads, time, size of a head)."""
    return _wide(tensor).reshape(B, T, H, -1).transpose(1, 2)


def _parts(tensor, part, fill=0.0):
    """Times in parts, the last filled up: (batch, heads, parts, times of a part, size)."""
    missing = -tensor.shape[2] % part
    tensor = torch.nn.functional.pad(tensor, (0, 0, 0, missing), value=fill)
    return tensor.reshape(*tensor.shape[:2], -1, part, tensor.shape[-1])


def _between(sums, part):
    """The decay from behind time ``s`` to before time ``t``, (..., t, s, size); nothing where ``s`` is not earlier."""
    before = torch.nn.functional.pad(sums, (0, 0, 1, 0))[..., :-1, :]
    earlier = torch.ones(part, part, dtype=torch.bool, device=sums.device).tril(-1)
    steps = (before[..., :, None, :] - sums[..., None, :, :]).masked_fill(~earlier[..., None], 0.0)
    return torch.exp(steps) * earlier[..., None]


def _gated(r, k, v, w, u, state):
    """Versions 5 and 6. All (batch, heads, time, size) but ``u`` (heads, size); ``state`` is (..., value, key).

    Args:
        w: the exponents of the decays, at most 0.
    """
    part = min(_PART, r.shape[2])
    time = r.shape[2]
    w = w.clamp(min=_LEAST)
    own = (r * u[:, None] * k).sum(-1, keepdim=True) * v
    r, k, v, w = (_parts(one, part) for one in (r, k, v, w))
    sums = w.cumsum(3)
    weights = torch.einsum("bhcti,bhcsi,bhctsi->bhcts", r, k, _between(sums, part))
    inside = weights @ v
    from_start = r * torch.exp(sums - w)
    to_end = k * torch.exp(sums[..., -1:, :] - sums)
    added = v.transpose(-1, -2) @ to_end
    whole = torch.exp(sums[..., -1, :])
    outs = []
    for c in range(r.shape[2]):
        outs.append(inside[:, :, c] + from_start[:, :, c] @ state.transpose(-1, -2))
        state = state * whole[:, :, c, None] + added[:, :, c]
    return own + torch.cat(outs, 2)[:, :, :time]


def _delta(r, w, k, v, a, b, state):
    """Version 7: ``state`` (..., value, key) decays, and what it has in the direction ``a`` moves to ``b``.

    Returns:
        What comes out, the part of each state in the direction ``a``, the last state, and those at the ends of parts.
    """
    part = min(_PART, r.shape[2])
    time = r.shape[2]
    r, w, k, v, a, b = (_parts(one, part) for one in (r, w.clamp(min=_LEAST), k, v, a, b))
    sums = w.cumsum(3)
    apart = _between(sums, part)
    from_start = torch.exp(sums - w)
    of_k = torch.einsum("bhcti,bhcsi,bhctsi->bhcts", a, k, apart)
    of_b = torch.einsum("bhcti,bhcsi,bhctsi->bhcts", a, b, apart)
    # (1 - of_b)^-1: of_b has nothing on its diagonal, so that its powers end.
    inverse = torch.eye(part, dtype=r.dtype, device=r.device) + of_b
    power, reach = of_b, 2
    while reach < part:
        power = power @ power
        inverse = inverse + inverse @ power
        reach *= 2
    # What comes out is read after the step, so that the time itself counts, without a decay.
    diagonal = torch.eye(part, dtype=torch.bool, device=r.device)[..., None]
    later = torch.where(diagonal, torch.ones_like(apart), apart * torch.exp(w)[..., :, None, :])
    out_k = torch.einsum("bhcti,bhcsi,bhctsi->bhcts", r, k, later)
    out_b = torch.einsum("bhcti,bhcsi,bhctsi->bhcts", r, b, later)
    to_end = torch.exp(sums[..., -1:, :] - sums)
    end_k, end_b, whole = k * to_end, b * to_end, torch.exp(sums[..., -1, :])
    a_start, r_start = a * from_start, r * torch.exp(sums)
    outs, moved, ends = [], [], []
    for c in range(r.shape[2]):
        here = v[:, :, c]
        given = a_start[:, :, c] @ state.transpose(-1, -2) + of_k[:, :, c] @ here
        found = inverse[:, :, c] @ given
        outs.append(r_start[:, :, c] @ state.transpose(-1, -2) + out_k[:, :, c] @ here + out_b[:, :, c] @ found)
        state = state * whole[:, :, c, None] + here.transpose(-1, -2) @ end_k[:, :, c]
        state = state + found.transpose(-1, -2) @ end_b[:, :, c]
        moved.append(found)
        ends.append(state)
    return torch.cat(outs, 2)[:, :, :time], torch.cat(moved, 2)[:, :, :time], state, ends


def _write(target, value):
    target.copy_(value.reshape(target.shape))


def _together(tensor):
    """(batch, heads, time, size) as the kernels have it."""
    return tensor.transpose(1, 2)


def _gradients(function, given, grad):
    with torch.enable_grad():
        given = [one.detach().clone().requires_grad_() for one in given]
        made = function(*given)
    made = torch.autograd.grad(made, given, grad, allow_unused=True)
    # At a single time there is nothing before, which a decay could weigh.
    return [torch.zeros_like(a) if b is None else b for a, b in zip(given, made)]  # noqa: B905


# --- versions 5 and 6 ---


def _run(B, T, H, r, k, v, w, u, state=None):
    r, k, v = (_heads(one, B, T, H) for one in (r, k, v))
    size = r.shape[-1]
    if state is None:
        state = r.new_zeros(B, H, size, size)
    return _together(_gated(r, k, v, _heads(w, B, T, H), _wide(u).reshape(H, size), _wide(state)))


def _exponents(w):
    return -torch.exp(_wide(w))


def _backward(B, T, H, given, gy, targets, exponents, state=None):
    """Gradients of r, k, v, the decay as it is given, u for each of the batch, and the state."""
    r, k, v, w, u = given
    with_u = _wide(u).reshape(1, -1).expand(B, -1)

    def run(r, k, v, w, u, *state):
        # Each of the batch has its own u here, so that each has its own gradient.
        r, k, v = (_heads(one, B, T, H) for one in (r, k, v))
        own = (r * u.reshape(B, H, 1, -1) * k).sum(-1, keepdim=True) * v
        start = state[0] if state else r.new_zeros(B, H, r.shape[-1], r.shape[-1])
        nothing = torch.zeros(H, r.shape[-1], dtype=r.dtype, device=r.device)
        return _together(own + _gated(r, k, v, _heads(exponents(w), B, T, H), nothing, start))

    inputs = [_wide(one) for one in (r, k, v, w)] + [with_u] + ([_wide(state)] if state is not None else [])
    grads = _gradients(run, inputs, _heads(gy, B, T, H).transpose(1, 2))
    for target, value in zip(targets, grads):  # noqa: B905
        _write(target, value)


def forward5(B, T, C, H, r, k, v, w, u, y):
    """Written into ``y``; ``w`` (C) are the decays themselves."""
    shortest = torch.finfo(torch.float32).tiny
    _write(y, _run(B, T, H, r, k, v, _wide(w).clamp(min=shortest).log().reshape(1, 1, C).expand(B, T, C), u))


def backward5(B, T, C, H, r, k, v, w, ww, u, gy, gr, gk, gv, gw, gu):
    """``gw`` (B, C) is the gradient of what ``ww`` is minus the exponential of."""
    each = _wide(ww).reshape(1, 1, C).expand(B, T, C)
    of_w = torch.empty(B, T, C, dtype=each.dtype, device=each.device)
    _backward(B, T, H, (r, k, v, each, u), gy, (gr, gk, gv, of_w, gu), lambda one: one)
    _write(gw, of_w.sum(1) * each[:, 0])


def forward6(B, T, C, H, r, k, v, w, u, y):
    """Written into ``y``; the decay is ``exp(-exp(w))``, for each time and channel."""
    _write(y, _run(B, T, H, r, k, v, _exponents(w), u))


def backward6(B, T, C, H, r, k, v, w, u, gy, gr, gk, gv, gw, gu):
    _backward(B, T, H, (r, k, v, w, u), gy, (gr, gk, gv, gw, gu), _exponents)


def forward6_of_exponents(B, T, C, H, r, k, v, w, u, y):
    """The form whose decay is ``exp(w)``."""
    _write(y, _run(B, T, H, r, k, v, _wide(w), u))


def backward6_of_exponents(B, T, C, H, r, k, v, w, u, gy, gr, gk, gv, gw, gu):
    """``gw`` is the gradient of what ``w`` is minus the exponential of."""
    of_w = torch.empty(B, T, C, dtype=_wide(w).dtype, device=w.device)
    _backward(B, T, H, (r, k, v, w, u), gy, (gr, gk, gv, of_w, gu), lambda one: one)
    _write(gw, of_w * _wide(w).reshape(B, T, C))


def _states(s, B, H, size):
    """One for each of the batch; RWKV gives the same one for all, behind which the kernel reads."""
    return s.reshape(-1, H, size, size).expand(B, -1, -1, -1)


def forward6_from_state(B, T, C, H, r, k, v, w, u, s, y):
    """The form that begins with the states ``s``, (B, H, value, key), or (H, value, key) for all of the batch."""
    _write(y, _run(B, T, H, r, k, v, _exponents(w), u, _states(s, B, H, C // H)))


def backward6_from_state(B, T, C, H, r, k, v, w, u, s, gy, gr, gk, gv, gw, gu, gs):
    state = _states(s, B, H, C // H)
    _backward(B, T, H, (r, k, v, w, u), gy, (gr, gk, gv, gw, gu, gs), _exponents, state)


# --- version 7 ---


def forward7(B, T, C, H, r, w, k, v, a, b, y):
    """Written into ``y``; the decay is ``exp(-exp(w))``."""
    r, w, k, v, a, b = (_heads(one, B, T, H) for one in (r, w, k, v, a, b))
    out, *_ = _delta(r, _exponents(w), k, v, a, b, r.new_zeros(B, H, C // H, C // H))
    _write(y, _together(out))


def forward7_from_state(B, T, C, H, state, r, w, k, v, a, b, y):
    """The form that begins with ``state``, (H, value, key), and leaves the last state there; for a batch of one."""
    r, w, k, v, a, b = (_heads(one, B, T, H) for one in (r, w, k, v, a, b))
    out, _, last, _ = _delta(r, _exponents(w), k, v, a, b, _wide(state).reshape(B, H, C // H, C // H))
    _write(y, _together(out))
    _write(state, last)


def _train(r, w, k, v, a, b, y, s, sa):
    given = [_wide(one).transpose(1, 2) for one in (r, w, k, v, a, b)]
    batch, heads, _, size = given[0].shape
    given[1] = _exponents(given[1])
    out, moved, _, ends = _delta(*given, given[0].new_zeros(batch, heads, size, size))
    _write(y, _together(out))
    _write(sa, _together(moved))
    # For each 16 times the state, with the key before the value.
    if len(ends) == s.shape[2]:
        _write(s, torch.stack(ends, 2).transpose(-1, -2))


def _train_backward(r, w, k, v, a, b, dy, dr, dw, dk, dv, da, db):
    def run(r, w, k, v, a, b):
        given = [one.transpose(1, 2) for one in (r, w, k, v, a, b)]
        batch, heads, _, size = given[0].shape
        given[1] = _exponents(given[1])
        return _together(_delta(*given, given[0].new_zeros(batch, heads, size, size))[0])

    grads = _gradients(run, [_wide(one) for one in (r, w, k, v, a, b)], _wide(dy))
    for target, value in zip((dr, dw, dk, dv, da, db), grads):  # noqa: B905
        _write(target, value)


def backstepping_forward(w, q, k, v, z, a, y, s, sa):
    """(B, T, H, size); what is needed of the states is written into ``s`` and ``sa``, as the kernel does."""
    _train(q, w, k, v, z, a, y, s, sa)


def backstepping_backward(w, q, k, v, z, a, dy, s, sa, dw, dq, dk, dv, dz, da):
    """Computed from the inputs again; ``s`` and ``sa`` are not read."""
    _train_backward(q, w, k, v, z, a, dy, dq, dw, dk, dv, dz, da)
