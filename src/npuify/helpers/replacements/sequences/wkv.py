# mypy: ignore-errors
"""The weighted sum over time of RWKV's version 4, forward and backward.

All times are computed together, in ``log2(T)`` steps of doubled distance, so that no step waits for the one before, as
the kernel's does; each step holds (batch, time, channels) numbers three times, for the backward pass too. float32.
"""

import torch

_NOTHING = -1e38
"""The exponent of a sum of nothing, as the kernel has it."""


def _sums(w, k, v):
    """For each time the decayed sums of ``exp(k) * v`` and ``exp(k)`` up to it, and the exponent taken out of both.

    Args:
        w: (batch, channels), what is added to exponents for each step of time; below 0.
        k, v: (batch, time, channels).
    """
    exponent = k.detach()
    q = torch.exp(k - exponent)
    p = q * v
    distance = 1
    while distance < k.shape[1]:
        decay = w[:, None] * distance
        before = exponent[:, :-distance] + decay.detach()
        common = torch.maximum(exponent[:, distance:], before)
        now = torch.exp(exponent[:, distance:] - common)
        then = torch.exp(exponent[:, :-distance] + decay - common)
        p = torch.cat([p[:, :distance], now * p[:, distance:] + then * p[:, :-distance]], 1)
        q = torch.cat([q[:, :distance], now * q[:, distance:] + then * q[:, :-distance]], 1)
        exponent = torch.cat([exponent[:, :distance], common], 1)
        distance *= 2
    return p, q, exponent


def _wkv(w, u, k, v):
    """(batch, time, channels): the mean of what was before, and of now with the weight ``u``."""
    p, q, exponent = _sums(w, k, v)
    zero = torch.zeros_like(p[:, :1])
    p, q = (torch.cat([zero, one[:, :-1]], 1) for one in (p, q))
    exponent = torch.cat([torch.full_like(zero, _NOTHING), exponent[:, :-1]], 1)
    own = u[:, None] + k
    common = torch.maximum(exponent, own.detach())
    before, now = torch.exp(exponent - common), torch.exp(own - common)
    return (before * p + now * v) / (before * q + now)


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _given(B, T, C, w, u, k, v):
    w, u, k, v = (_wide(one) for one in (w, u, k, v))
    return [w.expand(B, C), u.expand(B, C), k.reshape(B, T, C), v.reshape(B, T, C)]


def forward(B, T, C, w, u, k, v, y):
    """Written into ``y``, (B, T, C)."""
    y.copy_(_wkv(*_given(B, T, C, w, u, k, v)).reshape(y.shape))


def _gradients(B, T, C, w, u, k, v, gy):
    """Of ``w`` (times ``w``, as the kernel has it), ``u``, ``k`` and ``v``."""
    with torch.enable_grad():
        given = [one.detach().clone().requires_grad_() for one in _given(B, T, C, w, u, k, v)]
        made = _wkv(*given)
    made = torch.autograd.grad(made, given, _wide(gy).reshape(B, T, C), allow_unused=True)
    # At a single time there is nothing before, which w could weigh.
    made = [torch.zeros_like(a) if b is None else b for a, b in zip(given, made)]  # noqa: B905
    return [made[0] * _wide(w), *made[1:]]


def backward(B, T, C, w, u, k, v, gy, gw, gu, gk, gv):
    """Gradients of ``w`` (times ``w``) and ``u`` are added to (B, C), the others written."""
    of_w, of_u, of_k, of_v = _gradients(B, T, C, w, u, k, v, gy)
    gw += of_w.reshape(gw.shape)
    gu += of_u.reshape(gu.shape)
    gk.copy_(of_k.reshape(gk.shape))
    gv.copy_(of_v.reshape(gv.shape))


def backward_of_output(B, T, C, w, u, k, v, y, gy, gw, gu, gk, gv):
    """The later form, which is given what came out as well: all gradients are written."""
    for target, value in zip((gw, gu, gk, gv), _gradients(B, T, C, w, u, k, v, gy)):  # noqa: B905
        target.copy_(value.reshape(target.shape))
