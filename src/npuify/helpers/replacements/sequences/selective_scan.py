# mypy: ignore-errors
"""Mamba's selective scan, forward and backward: states ``h = exp(delta * A) * h + delta * B * u``, read out by ``C``.

Time is cut into parts of 128. Within a part all times are computed together, in steps of doubled distance; only the
state at its end is handed on, so that there are ``length / 128 * 7`` steps in place of one after the other. A step
holds (batch, channels, states, 128) numbers some six times. The backward pass computes each part again. Computed in
float32, as in the kernel; real ``A`` only.
"""

import torch
from torch.nn import functional

_PART = 128
"""Times that are computed together."""
_SAVED = 2048
"""The kernel hands on the state after so many times."""


def _wide(tensor):
    return tensor if tensor is None or tensor.dtype == torch.float64 else tensor.float()


def _spread(tensor, rows):
    """As many rows in dimension 1 as there are channels: groups of channels share one."""
    groups = tensor.shape[1]
    if groups == rows:
        return tensor
    shape = tensor.shape
    return tensor[:, :, None].expand(shape[0], groups, rows // groups, *shape[2:]).reshape(shape[0], rows, *shape[2:])


def _steps(u, delta, bias, softplus):
    """(batch, channels, time): the lengths of the steps of time."""
    delta = _wide(delta)
    if bias is not None:
        delta = delta + _wide(bias)[:, None]
    return _spread(functional.softplus(delta) if softplus else delta, u.shape[1])


def _part(u, delta, A, B, C, D, bias, state, softplus):
    """What comes out of a part, and the state at its end."""
    rows, wide = u.shape[1], _wide(u)
    delta = _steps(u, delta, bias, softplus)
    # (batch, channels, states, time), or broadcast to it where B or C does not depend on time.
    into, from_ = (_wide(one)[None, :, :, None] if one.dim() == 2 else _spread(_wide(one), rows) for one in (B, C))
    kept = torch.exp(delta[:, :, None] * A[None, :, :, None])
    sums = (delta * wide)[:, :, None] * into
    distance, time = 1, u.shape[2]
    while distance < time:
        sums = torch.cat(
            [sums[..., :distance], sums[..., distance:] + kept[..., distance:] * sums[..., :-distance]], -1
        )
        kept = torch.cat([kept[..., :distance], kept[..., distance:] * kept[..., :-distance]], -1)
        distance *= 2
    states = sums + kept * state[..., None]
    out = (states * from_).sum(2)
    if D is not None:
        out = out + _wide(D)[:, None] * wide
    return out, states[..., -1]


def _cut(tensor, start, stop):
    """A part of what depends on time; weights stay as they are."""
    return tensor[..., start:stop] if tensor is not None and tensor.dim() > 2 else tensor


def _parts(u):
    return [(start, min(start + _PART, u.shape[2])) for start in range(0, u.shape[2], _PART)]


def _check(A):
    if A.is_complex():
        raise NotImplementedError("a complex A is not replaced")


def _first(u, A):
    return torch.zeros(u.shape[0], u.shape[1], A.shape[1], dtype=_wide(u).dtype, device=u.device)


def _forward(u, delta, A, B, C, D, bias, softplus):
    """What comes out, in float32, and the states and decays after each 2048 times, as the kernel keeps them."""
    _check(A)
    state, outs, saved = _first(u, A), [], []
    for start, stop in _parts(u):
        cut = [_cut(one, start, stop) for one in (u, delta)]
        out, state = _part(*cut, A, _cut(B, start, stop), _cut(C, start, stop), D, bias, state, softplus)
        outs.append(out)
        if stop % _SAVED == 0 or stop == u.shape[2]:
            steps = _steps(u, delta, bias, softplus)[..., :stop].sum(-1)
            saved.append(torch.stack([torch.exp(steps[..., None] * A), state], -1).flatten(2))
    return torch.cat(outs, -1), torch.stack(saved, 2)


def _backward(u, delta, A, B, C, D, bias, dout, softplus):
    """Gradients of the seven in their order, None for what is not given."""
    _check(A)
    state, starts = _first(u, A), []
    cuts = _parts(u)
    with torch.no_grad():
        for start, stop in cuts:
            starts.append(state)
            cut = [_cut(one, start, stop) for one in (u, delta)]
            _, state = _part(*cut, A, _cut(B, start, stop), _cut(C, start, stop), D, bias, state, softplus)
    given, dstate = (u, delta, A, B, C, D, bias), torch.zeros_like(state)
    found = [None if one is None else [] for one in given]
    for (start, stop), state in zip(reversed(cuts), reversed(starts)):  # noqa: B905
        with torch.enable_grad():
            leaves = [None if one is None else _cut(one, start, stop).detach().requires_grad_() for one in given]
            state = state.detach().requires_grad_()
            made = _part(*leaves, state, softplus)
        wanted = [one for one in leaves if one is not None]
        grads = list(torch.autograd.grad(made, [*wanted, state], [_wide(_cut(dout, start, stop)), dstate]))
        dstate = grads.pop()
        for place in found:
            if place is not None:
                place.append(grads.pop(0))
    return [
        None
        if parts is None
        else (torch.cat(parts[::-1], -1) if one.dim() > 2 else sum(parts[1:], parts[0])).to(one.dtype)
        for one, parts in zip(given, found)  # noqa: B905
    ]


def fwd(u, delta, A, B, C, D_, z_, delta_bias_, delta_softplus):
    """Mamba's: what comes out, the kept states, and with ``z_`` what comes out times ``silu(z_)``."""
    out, states = _forward(u, delta, A, B, C, D_, delta_bias_, delta_softplus)
    made = [out.to(delta.dtype), states.to(A.dtype)]
    if z_ is not None:
        made.append((out * functional.silu(_wide(z_))).to(z_.dtype))
    return made


def bwd(u, delta, A, B, C, D_, z_, delta_bias_, dout, x_, out_, dz_, delta_softplus, recompute_out_z):
    """Mamba's: gradients of u, delta, A, B, C, D and the bias; with ``z_`` its own, and the output again if asked."""
    more = []
    if z_ is not None:
        z, wide = _wide(z_), _wide(dout)
        share = torch.sigmoid(z)
        dz = wide * _wide(out_) * share * (1 + z * (1 - share))
        if dz_ is None:
            dz_ = torch.empty_like(z_)
        more.append(dz_.copy_(dz))
        if recompute_out_z:
            more.append((_wide(out_) * z * share).to(out_.dtype))
        dout = wide * z * share
    return [*_backward(u, delta, A, B, C, D_, delta_bias_, dout, delta_softplus), *more]


def fwd_rows(u, delta, A, B, C, D_, delta_bias_, delta_softplus, nrows):
    """VMamba's: what comes out, and the kept states; ``nrows`` is how the kernel works."""
    out, states = _forward(u, delta, A, B, C, D_, delta_bias_, delta_softplus)
    return [out.to(delta.dtype), states.to(A.dtype)]


def bwd_rows(u, delta, A, B, C, D_, delta_bias_, dout, x_, delta_softplus, nrows):
    """VMamba's: gradients of u, delta, A, B, C, D and the bias."""
    return _backward(u, delta, A, B, C, D_, delta_bias_, dout, delta_softplus)


def fwd_float(u, delta, A, B, C, D_, delta_bias_, delta_softplus, nrows, out_float):
    """VMamba's with ``out_float``: what comes out is float32 then; channels may share ``delta`` in groups."""
    out, states = _forward(u, delta, A, B, C, D_, delta_bias_, delta_softplus)
    return [out.to(torch.float32 if out_float else u.dtype), states.to(A.dtype)]
