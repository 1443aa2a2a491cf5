# mypy: ignore-errors
"""The recurrence of simple recurrent units (SRU), in one direction and in both, with its gradients.

Any floating type, computed in the type that it is given. The gates of a step read the state before it, so times are
walked through one after the other, as in the kernel. The functions can be called from TorchScript, which calls Python
for them: such a script cannot be saved.
"""

from typing import List, Optional

import torch
from torch import Tensor


def _along(x, both):
    """(time, batch, columns) in the order of each column's times: those of the second half of the columns run back."""
    if not both:
        return x
    half = x.shape[2] // 2
    return torch.cat([x[:, :, :half], x[:, :, half:].flip(0)], 2)


def _laid_out(u, x, weight_c, bias, mask_c, mask_pad, columns, both, k, skip, custom):
    """What each column reads: (time, batch, columns), and what is the same for all times."""
    batch = u.shape[1]
    u = _along(u.reshape(-1, batch, columns, k), both)
    if custom:
        weights = [_along(one.contiguous(), both) for one in weight_c.reshape(-1, batch, columns, 2).unbind(3)]
    else:
        weights = [one.expand(len(u), batch, columns) for one in weight_c.reshape(2, 1, 1, columns).unbind(0)]
    inputs = None
    if skip == 1:
        inputs = _along(x.reshape(-1, batch, columns), both)
    elif skip == 2:
        inputs = u[..., 3]
    pad = None
    if mask_pad is not None:
        pad = _along(mask_pad.bool().reshape(-1, batch, 1).expand(len(u), batch, columns), both)
    mask = torch.ones_like(u[0, ..., 0]) if mask_c is None else mask_c.reshape(batch, columns)
    return u, weights, bias.reshape(2, columns).unbind(0), inputs, mask, pad


def _gates(u, weights, bias, time, state):
    return [torch.sigmoid(u[time, ..., 1 + one] + weights[one][time] * state + bias[one]) for one in (0, 1)]


def _run(u, x, weight_c, bias, init, mask_c, mask_pad, length, batch, columns, both, k, activation, skip, custom):
    u = u.reshape(length, batch, columns * k)
    u, weights, bias, inputs, mask, pad = _laid_out(
        u, x, weight_c, bias, mask_c, mask_pad, columns, both, k, skip, custom
    )
    state = init.reshape(batch, columns)
    hidden, states = [], []
    for time in range(length):
        forget, reset = _gates(u, weights, bias, time, state)
        new = (state - u[time, ..., 0]) * forget + u[time, ..., 0]
        value = torch.tanh(new) if activation else new
        if skip:
            out = (value - inputs[time]) * mask * reset + inputs[time]
        else:
            out = value * mask * reset
        if pad is not None:
            new = torch.where(pad[time], state, new)
            out = torch.where(pad[time], torch.zeros_like(out), out)
        state = new
        hidden.append(out)
        states.append(state)
    return [_along(torch.stack(hidden), both), _along(torch.stack(states), both)]


def _back(
    u,
    x,
    weight_c,
    bias,
    init,
    mask_c,
    mask_pad,
    c,
    grad_h,
    grad_last,
    length,
    batch,
    columns,
    both,
    k,
    activation,
    skip,
    custom,
):
    shape_u, shape_x, shape_w = u.shape, None if x is None else x.shape, weight_c.shape
    u = u.reshape(length, batch, columns * k)
    u, weights, bias, inputs, mask, pad = _laid_out(
        u, x, weight_c, bias, mask_c, mask_pad, columns, both, k, skip, custom
    )
    states, grad_h = (_along(one.reshape(length, batch, columns), both) for one in (c, grad_h))
    flowing = grad_last.reshape(batch, columns)
    nothing = torch.zeros_like(flowing)
    of_u, of_x, of_weights = [None] * length, [None] * length, [None] * length
    sums = [nothing, nothing, nothing, nothing]
    for time in reversed(range(length)):
        before = states[time - 1] if time else init.reshape(batch, columns)
        forget, reset = _gates(u, weights, bias, time, before)
        value = torch.tanh(states[time]) if activation else states[time]
        slope = 1 - value * value if activation else torch.ones_like(value)
        given = inputs[time] if skip else nothing
        grad = grad_h[time]
        of_reset = grad * (value - given) * mask * (reset * (1 - reset))
        of_state = grad * mask * (reset * slope) + flowing
        of_forget = of_state * (before - u[time, ..., 0]) * (forget * (1 - forget))
        new = of_state * forget + of_forget * weights[0][time] + of_reset * weights[1][time]
        parts = [of_state * (1 - forget), of_forget, of_reset]
        through = grad * (1 - reset * mask)
        if pad is not None:
            new = torch.where(pad[time], flowing, new)
            parts = [torch.where(pad[time], nothing, one) for one in parts]
            through = torch.where(pad[time], nothing, through)
        flowing = new
        of_gates = [parts[1] * before, parts[2] * before]
        sums = [sums[at] + more for at, more in enumerate([*of_gates, *parts[1:]])]
        if k == 4:
            parts.append(through if skip == 2 else nothing)
        of_u[time], of_x[time], of_weights[time] = torch.stack(parts, -1), through, torch.stack(of_gates, -1)
    grad_u = _along(torch.stack(of_u), both).reshape(shape_u)
    if x is None:
        grad_x = torch.zeros(1)
    else:
        grad_x = _along(torch.stack(of_x), both).reshape(shape_x) if skip == 1 else torch.zeros_like(x)
    if custom:
        grad_w = _along(torch.stack(of_weights), both).reshape(shape_w)
    else:
        grad_w = torch.stack(sums[:2])
    return [grad_u, grad_x, grad_w, torch.stack(sums[2:]), flowing]


@torch.jit.ignore
def sru_forward(
    u: Tensor,
    x: Optional[Tensor],
    weight_c: Tensor,
    bias: Tensor,
    c_init: Tensor,
    mask_c: Optional[Tensor],
    mask_pad: Optional[Tensor],
    length: int,
    batch_size: int,
    hidden_size: int,
    k: int,
    activation_type: int,
    skip_type: int,
    is_custom: int,
) -> List[Tensor]:
    """The hidden states and the states of all times: (time, batch, columns)."""
    sizes = (length, batch_size, hidden_size, False, k, activation_type, skip_type, is_custom)
    return _run(u, x, weight_c, bias, c_init, mask_c, mask_pad, *sizes)


@torch.jit.ignore
def sru_bi_forward(
    u: Tensor,
    x: Optional[Tensor],
    weight_c: Tensor,
    bias: Tensor,
    c_init: Tensor,
    mask_c: Optional[Tensor],
    mask_pad: Optional[Tensor],
    length: int,
    batch_size: int,
    hidden_size: int,
    k: int,
    activation_type: int,
    skip_type: int,
    is_custom: int,
) -> List[Tensor]:
    """The same in both directions: the second half of the columns goes from the last time to the first."""
    sizes = (length, batch_size, hidden_size * 2, True, k, activation_type, skip_type, is_custom)
    return _run(u, x, weight_c, bias, c_init, mask_c, mask_pad, *sizes)


@torch.jit.ignore
def sru_forward_simple(
    u: Tensor,
    x: Optional[Tensor],
    weight_c: Tensor,
    bias: Tensor,
    c_init: Tensor,
    mask_c: Optional[Tensor],
    mask_pad: Optional[Tensor],
    length: int,
    batch_size: int,
    hidden_size: int,
) -> List[Tensor]:
    """Three parts of ``u``, the input beside the gate, no activation, one weight for all times."""
    return _run(u, x, weight_c, bias, c_init, mask_c, mask_pad, length, batch_size, hidden_size, False, 3, 0, 1, 0)


@torch.jit.ignore
def sru_bi_forward_simple(
    u: Tensor,
    x: Optional[Tensor],
    weight_c: Tensor,
    bias: Tensor,
    c_init: Tensor,
    mask_c: Optional[Tensor],
    mask_pad: Optional[Tensor],
    length: int,
    batch_size: int,
    hidden_size: int,
) -> List[Tensor]:
    """The same in both directions."""
    return _run(u, x, weight_c, bias, c_init, mask_c, mask_pad, length, batch_size, hidden_size * 2, True, 3, 0, 1, 0)


def sru_backward(
    u,
    x,
    weight_c,
    bias,
    c_init,
    mask_c,
    mask_pad,
    c,
    grad_h,
    grad_last,
    length,
    batch_size,
    hidden_size,
    k,
    activation_type,
    skip_type,
    is_custom,
):
    """The gradients of u, x, weights and biases (for each of the batch, unless the weights are), and of the state."""
    sizes = (length, batch_size, hidden_size, False, k, activation_type, skip_type, is_custom)
    return _back(u, x, weight_c, bias, c_init, mask_c, mask_pad, c, grad_h, grad_last, *sizes)


def sru_bi_backward(
    u,
    x,
    weight_c,
    bias,
    c_init,
    mask_c,
    mask_pad,
    c,
    grad_h,
    grad_last,
    length,
    batch_size,
    hidden_size,
    k,
    activation_type,
    skip_type,
    is_custom,
):
    """The same in both directions."""
    sizes = (length, batch_size, hidden_size * 2, True, k, activation_type, skip_type, is_custom)
    return _back(u, x, weight_c, bias, c_init, mask_c, mask_pad, c, grad_h, grad_last, *sizes)


def sru_backward_simple(
    u, x, weight_c, bias, c_init, mask_c, mask_pad, c, grad_h, grad_last, length, batch_size, hidden_size
):
    """The gradients of ``sru_forward_simple``."""
    sizes = (length, batch_size, hidden_size, False, 3, 0, 1, 0)
    return _back(u, x, weight_c, bias, c_init, mask_c, mask_pad, c, grad_h, grad_last, *sizes)


def sru_bi_backward_simple(
    u, x, weight_c, bias, c_init, mask_c, mask_pad, c, grad_h, grad_last, length, batch_size, hidden_size
):
    """The gradients of ``sru_bi_forward_simple``."""
    sizes = (length, batch_size, hidden_size * 2, True, 3, 0, 1, 0)
    return _back(u, x, weight_c, bias, c_init, mask_c, mask_pad, c, grad_h, grad_last, *sizes)
