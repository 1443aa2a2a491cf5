# mypy: ignore-errors
"""What flash_attn's rotary embeddings compute, in plain PyTorch.

Numbers are rotated in float32, or in double precision where they come so, and then rounded, as flash_attn's kernel
does. Where it works in place so does this, but for a leaf that takes a gradient, which is given back as a new tensor.
"""

import torch
from torch import nn


def rotate_half(x, interleaved=False):
    """The second number of each pair with the other sign, and then the first."""
    if interleaved:
        return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def _wide(table, interleaved):
    """A table of half a head for every place of the head, and for every head."""
    table = table.repeat_interleave(2, dim=-1) if interleaved else torch.cat((table, table), dim=-1)
    return table.unsqueeze(-2)


def apply_rotary_emb_torch(x, cos, sin, interleaved=False):
    """The rotation in the type of ``x``, as flash_attn's own reference has it."""
    size = cos.shape[-1] * 2
    turned = x[..., :size]
    turned = turned * _wide(cos, interleaved) + rotate_half(turned, interleaved) * _wide(sin, interleaved)
    return torch.cat((turned, x[..., size:]), dim=-1)


def _rows(cos, sin, x, offsets, cu_seqlens):
    """The rows of the tables for every place of ``x``; beyond the tables nothing is turned."""
    if cu_seqlens is not None:
        place = torch.arange(x.shape[0], device=x.device)
        begins = cu_seqlens.to(torch.int64)
        sequence = (torch.searchsorted(begins, place, right=True) - 1).clamp(max=len(begins) - 2)
        place = place - begins[sequence]
        place = place + (offsets[sequence] if isinstance(offsets, torch.Tensor) else offsets)
    elif isinstance(offsets, torch.Tensor):
        place = offsets.unsqueeze(1) + torch.arange(x.shape[1], device=x.device)
    else:
        return cos[offsets : offsets + x.shape[1]], sin[offsets : offsets + x.shape[1]]
    there = (place < cos.shape[0]).unsqueeze(-1)
    place = place.clamp(max=cos.shape[0] - 1)
    cos, sin = cos[place], sin[place]
    return torch.where(there, cos, torch.ones_like(cos)), torch.where(there, sin, torch.zeros_like(sin))


def apply_rotary(
    x,
    cos,
    sin,
    seqlen_offsets=0,
    cu_seqlens=None,
    max_seqlen=None,
    interleaved=False,
    inplace=False,
    conjugate=False,
):
    """``flash_attn.ops.triton.rotary.apply_rotary``; ``conjugate`` turns the other way."""
    kind = torch.promote_types(x.dtype, torch.float32)
    cos, sin = _rows(cos, sin, x, seqlen_offsets, cu_seqlens)
    cos, sin = cos.to(kind), sin.to(kind)
    result = apply_rotary_emb_torch(x.to(kind), cos, -sin if conjugate else sin, interleaved).to(x.dtype)
    if inplace and not (x.is_leaf and x.requires_grad):
        return x.copy_(result)
    return result


def apply_rotary_emb(x, cos, sin, interleaved=False, inplace=False, seqlen_offsets=0, cu_seqlens=None, max_seqlen=None):
    """``x`` (batch, length, heads, size), or (all, heads, size) with ``cu_seqlens``, with the rotation applied."""
    return apply_rotary(x, cos, sin, seqlen_offsets, cu_seqlens, max_seqlen, interleaved, inplace)


apply_rotary_emb_func = apply_rotary_emb


def apply_rotary_emb_qkv_(qkv, cos, sin, cos_k=None, sin_k=None, interleaved=False, seqlen_offsets=0, num_heads_q=None):
    """Queries and keys of ``qkv`` turned: (batch, length, 3, heads, size), or all heads behind each other."""
    if qkv.dim() == 5:
        q, k, v = qkv.unbind(2)
    else:
        heads = (qkv.shape[2] - num_heads_q) // 2
        q, k, v = qkv.split((num_heads_q, heads, heads), dim=2)
    q = apply_rotary(q, cos, sin, seqlen_offsets, interleaved=interleaved)
    k = apply_rotary(
        k, cos if cos_k is None else cos_k, sin if sin_k is None else sin_k, seqlen_offsets, interleaved=interleaved
    )
    result = torch.stack((q, k, v), dim=2) if qkv.dim() == 5 else torch.cat((q, k, v), dim=2)
    return _put(qkv, result)


def apply_rotary_emb_kv_(kv, cos, sin, interleaved=False, seqlen_offsets=0):
    """The keys of ``kv`` (batch, length, 2, heads, size) turned."""
    k, v = kv.unbind(2)
    k = apply_rotary(k, cos, sin, seqlen_offsets, interleaved=interleaved)
    return _put(kv, torch.stack((k, v), dim=2))


def _put(where, result):
    return result if where.is_leaf and where.requires_grad else where.copy_(result)


class RotaryEmbedding(nn.Module):
    """``flash_attn.layers.rotary.RotaryEmbedding``, with the same buffers; ``scale_base`` gives XPos."""

    def __init__(self, dim, base=10000.0, interleaved=False, scale_base=None, device=None):
        super().__init__()
        self.dim = dim
        self.base = float(base)
        self.interleaved = interleaved
        self.scale_base = scale_base
        self.register_buffer("inv_freq", self._compute_inv_freq(device), persistent=False)
        scale = None
        if scale_base is not None:
            scale = (torch.arange(0, dim, 2, device=device, dtype=torch.float32) + 0.4 * dim) / (1.4 * dim)
        self.register_buffer("scale", scale, persistent=False)
        self._seq_len_cached = 0
        self._cos_cached = None
        self._sin_cached = None
        self._cos_k_cached = None
        self._sin_k_cached = None

    def _compute_inv_freq(self, device=None):
        steps = torch.arange(0, self.dim, 2, device=device, dtype=torch.float32)
        return 1.0 / self.base ** (steps / self.dim)

    def _update_cos_sin_cache(self, seqlen, device=None, dtype=None):
        held = self._cos_cached
        if (
            held is not None
            and seqlen <= self._seq_len_cached
            and (held.device, held.dtype) == (device, dtype)
            and not (self.training and held.is_inference())
        ):
            return
        self._seq_len_cached = seqlen
        # Angles are large: half precision, of a model that was cast, would lose them.
        speed = self.inv_freq if self.inv_freq.dtype == torch.float32 else self._compute_inv_freq(device)
        place = torch.arange(seqlen, device=device, dtype=torch.float32)
        angle = place.unsqueeze(1) * speed.to(device).unsqueeze(0)
        cos, sin = torch.cos(angle), torch.sin(angle)
        if self.scale is None:
            self._cos_cached, self._sin_cached = cos.to(dtype), sin.to(dtype)
            return
        power = (place - seqlen // 2) / self.scale_base
        scale = self.scale.to(device=device, dtype=torch.float32) ** power.unsqueeze(1)
        self._cos_cached, self._sin_cached = (cos * scale).to(dtype), (sin * scale).to(dtype)
        self._cos_k_cached, self._sin_k_cached = (cos / scale).to(dtype), (sin / scale).to(dtype)

    def forward(self, qkv, kv=None, seqlen_offset=0, max_seqlen=None, num_heads_q=None):
        """``qkv`` turned in place, or queries and ``kv``."""
        if max_seqlen is not None:
            self._update_cos_sin_cache(max_seqlen, device=qkv.device, dtype=qkv.dtype)
        elif isinstance(seqlen_offset, int):
            self._update_cos_sin_cache(qkv.shape[1] + seqlen_offset, device=qkv.device, dtype=qkv.dtype)
        cos, sin, cos_k, sin_k = self._cos_cached, self._sin_cached, self._cos_k_cached, self._sin_k_cached
        if kv is None:
            return apply_rotary_emb_qkv_(
                qkv, cos, sin, cos_k, sin_k, self.interleaved, seqlen_offset, num_heads_q=num_heads_q
            )
        q = apply_rotary_emb(qkv, cos, sin, self.interleaved, True, seqlen_offset)
        if self.scale is not None:
            cos, sin = cos_k, sin_k
        return q, apply_rotary_emb_kv_(kv, cos, sin, self.interleaved, seqlen_offset)
