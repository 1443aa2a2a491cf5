# mypy: ignore-errors
"""What xformers.ops computes beside attention, in plain PyTorch: SwiGLU, rows by index, the root mean square norm.

Parameters have xformers' names and order, so that its checkpoints load.
"""

import torch
from torch import nn
from torch.nn import functional


def unbind(x, dim):
    """The parts of ``x`` along ``dim``."""
    return torch.unbind(x, dim)


def masked_matmul(a, b, mask=None):
    """``a @ b`` with minus infinity where a mask of truths is false, or with a mask of numbers added."""
    scores = a @ b
    if mask is None:
        return scores
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, float("-inf"))
    scores += mask
    return scores


def index_select_cat(sources, indices):
    """The rows that each index takes of its source, flat, one after the other."""
    return torch.cat([source.index_select(0, index).flatten() for source, index in zip(sources, indices, strict=True)])


def scaled_index_add(input, index, source, scaling=None, alpha=1.0):
    """``source``, times ``scaling`` by columns and ``alpha``, is added to rows of ``input`` in their place."""
    added = source if scaling is None else source * scaling
    return input.index_add_(0, index, added.to(input.dtype), alpha=alpha)


def swiglu(x, w1, b1, w2, b2, w3, b3, *, op=None):
    """A layer with the gate ``silu(w1 x + b1)`` on ``w2 x + b2``; ``op``, which chooses a kernel, is not asked."""
    hidden = functional.silu(functional.linear(x, w1, b1)) * functional.linear(x, w2, b2)
    return functional.linear(hidden, w3, b3)


class SwiGLU(nn.Module):
    """A layer of ``swiglu``; the first two weights lie in one, ``w12``, unless ``_pack_weights`` is false."""

    def __init__(self, in_features, hidden_features, out_features=None, bias=True, *, _pack_weights=True):
        super().__init__()
        self.in_features = in_features
        self.hidden_features = hidden_features or in_features
        self.out_features = out_features or in_features
        self.w12 = nn.Linear(in_features, 2 * self.hidden_features, bias=bias) if _pack_weights else None
        if not _pack_weights:
            self.w1 = nn.Linear(in_features, self.hidden_features, bias=bias)
            self.w2 = nn.Linear(in_features, self.hidden_features, bias=bias)
        self.w3 = nn.Linear(self.hidden_features, self.out_features, bias=bias)
        self.op = None

    def forward(self, x):
        first, second = (self.w1(x), self.w2(x)) if self.w12 is None else self.w12(x).chunk(2, dim=-1)
        return self.w3(functional.silu(first) * second)


class RMSNorm(nn.Module):
    """The norm over the last dimension, computed in float32. It has gradients, which xformers' refuses."""

    def __init__(self, dim, include_weight=True, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim)) if include_weight else None

    def forward(self, x):
        given = x.float()
        made = given * torch.rsqrt(given.square().mean(-1, keepdim=True) + self.eps)
        return (made if self.weight is None else made * self.weight).to(x.dtype)

    def increment_and_forward_(self, x, y):
        """``x`` becomes ``x + y``; its norm."""
        x += y
        return self(x)
