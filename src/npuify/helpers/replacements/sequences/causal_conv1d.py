# mypy: ignore-errors
"""A convolution over time for each channel that sees nothing of the future, with SiLU if asked; and one step of it.

The sum over the taps (2 to 4 in the kernels, any number here) is one product and one addition a tap over the whole
input, in float32. The backward pass computes the forward pass again. ``causal_conv1d_update`` waits for the device once
if rows of its state are chosen by ``conv_state_indices``.
"""

import torch
from torch.nn import functional


def _wide(tensor):
    return tensor if tensor is None or tensor.dtype == torch.float64 else tensor.float()


def _convolved(x, weight, bias, silu, begin, seq_idx=None, padded=False):
    """(batch, channels, time), and the last values of the input, with which another call can go on.

    Args:
        begin: (batch, channels, taps - 1), what was before, or None for zeros.
        seq_idx: (batch, time), the sequence that a place belongs to, -1 for what was before.
        padded: what comes out where ``seq_idx`` is below 0 is 0.
    """
    taps, time = weight.shape[1], x.shape[2]
    if begin is None:
        begin = x.new_zeros(x.shape[0], x.shape[1], taps - 1)
    whole = torch.cat([begin.to(x.dtype), x], -1)
    wide, weight = _wide(whole), _wide(weight)
    of = None if seq_idx is None else functional.pad(seq_idx.to(torch.int32), (taps - 1, 0), value=-1)[:, None]
    out = torch.zeros_like(wide[..., :time])
    for tap in range(taps):
        part = weight[:, tap, None] * wide[..., tap : tap + time]
        if of is not None:
            part = part * (of[..., tap : tap + time] == of[..., taps - 1 :]).to(part.dtype)
        out = out + part
    if bias is not None:
        out = out + _wide(bias)[:, None]
    if silu:
        out = functional.silu(out)
    if padded and of is not None:
        out = out * (of[..., taps - 1 :] >= 0).to(out.dtype)
    return out, whole[..., time:]


def _gradients(x, weight, bias, dout, seq_idx, begin, dend, silu):
    """Of x, the weight, the bias and what was before. By hand: below custom operators autograd records nothing."""
    taps, time = weight.shape[1], x.shape[2]
    if begin is None:
        begin = x.new_zeros(x.shape[0], x.shape[1], taps - 1)
    wide, of_weight, rates = _wide(torch.cat([begin.to(x.dtype), x], -1)), [], _wide(weight)
    grads = _wide(dout)
    if silu:
        before, _ = _convolved(x, weight, bias, False, begin, seq_idx)
        share = torch.sigmoid(before)
        grads = grads * share * (1 + before * (1 - share))
    of = None if seq_idx is None else functional.pad(seq_idx.to(torch.int32), (taps - 1, 0), value=-1)[:, None]
    of_whole = torch.zeros_like(wide)
    for tap in range(taps):
        part = grads
        if of is not None:
            part = part * (of[..., tap : tap + time] == of[..., taps - 1 :]).to(part.dtype)
        of_weight.append((part * wide[..., tap : tap + time]).sum((0, 2)))
        of_whole = of_whole + functional.pad(rates[:, tap, None] * part, (tap, taps - 1 - tap))
    if dend is not None:
        of_whole = of_whole + functional.pad(_wide(dend), (time, 0))
    of_bias = None if bias is None else grads.sum((0, 2)).to(bias.dtype)
    begins, of_x = of_whole.to(x.dtype).split([taps - 1, time], -1)
    return of_x, torch.stack(of_weight, 1).to(weight.dtype), of_bias, begins


def causal_conv1d_fwd(x, weight, bias_, seq_idx_, initial_states_, out, final_states_out_, silu_activation):
    """Version 1.6: written into ``out``, and the last values of the input into ``final_states_out_``."""
    _written(x, weight, bias_, seq_idx_, initial_states_, out, final_states_out_, silu_activation, False)


def fwd_padded(x, weight, bias_, seq_idx_, initial_states_, out, final_states_out_, silu_activation):
    """Version 1.6 since October 2025: places with a ``seq_idx_`` below 0 are 0. The backward pass is as it was."""
    _written(x, weight, bias_, seq_idx_, initial_states_, out, final_states_out_, silu_activation, True)


def _written(x, weight, bias, seq_idx, begin, out, final, silu, padded):
    made, end = _convolved(x, weight, bias, silu, begin, seq_idx, padded)
    out.copy_(made)
    if final is not None:
        final.copy_(end)


def causal_conv1d_bwd(
    x,
    weight,
    bias_,
    dout,
    seq_idx_,
    initial_states_,
    dfinal_states_,
    dx,
    dweight,
    dbias_,
    dinitial_states_,
    silu_activation,
):
    """Gradients of the weight and the bias are added, the others written."""
    of_x, of_weight, of_bias, of_begin = _gradients(
        x, weight, bias_, dout, seq_idx_, initial_states_, dfinal_states_, silu_activation
    )
    dx.copy_(of_x)
    dweight += of_weight
    if dbias_ is not None:
        dbias_ += of_bias
    if dinitial_states_ is not None:
        dinitial_states_.copy_(of_begin)


def fwd_with_states(x, weight, bias_, seq_idx_, initial_states_, final_states_out_, silu_activation):
    """Versions 1.2 to 1.5: the output is returned."""
    out = torch.empty_like(x)
    causal_conv1d_fwd(x, weight, bias_, seq_idx_, initial_states_, out, final_states_out_, silu_activation)
    return out


def bwd_with_states(
    x, weight, bias_, dout, seq_idx_, initial_states_, dfinal_states_, dx_, return_dinitial_states, silu_activation
):
    """Versions 1.2 to 1.5: gradients of x (in ``dx_`` where it is given), the weight, the bias and what was before."""
    of_x, of_weight, of_bias, of_begin = _gradients(
        x, weight, bias_, dout, seq_idx_, initial_states_, dfinal_states_, silu_activation
    )
    if dx_ is None:
        dx_ = torch.empty_like(x)
    return [dx_.copy_(of_x), of_weight, of_bias, of_begin if return_dinitial_states else None]


def fwd_with_sequences(x, weight, bias_, seq_idx_, silu_activation):
    """Version 1.1: without what was before."""
    return fwd_with_states(x, weight, bias_, seq_idx_, None, None, silu_activation)


def bwd_with_sequences(x, weight, bias_, dout, seq_idx_, dx_, silu_activation):
    """Version 1.1: gradients of x, the weight and the bias."""
    return bwd_with_states(x, weight, bias_, dout, seq_idx_, None, None, dx_, False, silu_activation)[:3]


def causal_conv1d_update(x, conv_state, weight, bias_, out, silu_activation, cache_seqlens_, conv_state_indices_):
    """Version 1.6: written into ``out``; the state is moved on, or written around from ``cache_seqlens_``."""
    rows, length, taps, time = x.shape[0], conv_state.shape[2], weight.shape[1], x.shape[2]
    if conv_state_indices_ is None:
        chosen, state, given = None, conv_state, x
    else:
        kept = (conv_state_indices_ >= 0).nonzero()[:, 0]
        out.zero_()
        chosen, given = conv_state_indices_.long()[kept], x[kept]
        state, rows = conv_state[chosen], len(kept)
    if cache_seqlens_ is None:
        begin = state[..., length - (taps - 1) :]
        after = torch.cat([state, given.to(state.dtype)], -1)[..., -length:]
    else:
        at = cache_seqlens_.long() if chosen is None else cache_seqlens_.long()[kept]
        places = torch.arange(-(taps - 1), time, device=x.device)
        around = ((at % length)[:, None] + places).remainder(length)[:, None].expand(rows, x.shape[1], -1)
        begin = state.gather(2, around[..., : taps - 1])
        last = min(time, length)
        after = state.scatter(2, around[..., around.shape[2] - last :], given[..., time - last :].to(state.dtype))
    made, _ = _convolved(given, weight, bias_, silu_activation, begin)
    if chosen is None:
        out.copy_(made)
        conv_state.copy_(after)
    else:
        out[kept] = made.to(out.dtype)
        conv_state[chosen] = after


def update_with_rows(x, conv_state, weight, bias_, silu_activation, cache_seqlens_, conv_state_indices_):
    """Versions 1.4 and 1.5: the output is returned."""
    out = torch.empty_like(x)
    causal_conv1d_update(x, conv_state, weight, bias_, out, silu_activation, cache_seqlens_, conv_state_indices_)
    return out


def update_with_lengths(x, conv_state, weight, bias_, silu_activation, cache_seqlens_):
    """Version 1.3: without rows that are chosen."""
    return update_with_rows(x, conv_state, weight, bias_, silu_activation, cache_seqlens_, None)


def update_plain(x, conv_state, weight, bias_, silu_activation):
    """Versions 1.0 to 1.2: one time, (batch, channels)."""
    out = torch.empty_like(x)[..., None]
    causal_conv1d_update(x[..., None], conv_state, weight, bias_, out, silu_activation, None, None)
    return out[..., 0]
