# mypy: ignore-errors
"""What parts of apex beyond its optimizers and norms compute, in plain PyTorch: the loss, clipping, the layer norm."""

import torch
from torch import nn


class SoftmaxCrossEntropyLoss(torch.autograd.Function):
    """``apex.contrib.xentropy``: the loss of each row, 0 where the label is ``padding_idx``; computed in float32."""

    @staticmethod
    def forward(ctx, logits, labels, smoothing=0.0, padding_idx=0, half_to_float=False):
        wide = logits if logits.dtype == torch.float64 else logits.float()
        normalizer = torch.logsumexp(wide, 1)
        losses = normalizer - wide.gather(1, labels[:, None])[:, 0] * (1 - smoothing) - wide.mean(1) * smoothing
        ctx.save_for_backward(logits, normalizer, labels)
        ctx.given = smoothing, padding_idx
        return losses.masked_fill(labels == padding_idx, 0)

    @staticmethod
    def backward(ctx, grad_loss):
        logits, normalizer, labels = ctx.saved_tensors
        smoothing, padding_idx = ctx.given
        share = torch.exp(logits.to(normalizer.dtype) - normalizer[:, None]) - smoothing / logits.shape[1]
        share = share.scatter_add(1, labels[:, None], torch.full_like(share[:, :1], smoothing - 1))
        grad = grad_loss.masked_fill(labels == padding_idx, 0).to(share.dtype)
        return (share * grad[:, None]).to(logits.dtype), None, None, None, None


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """``apex.contrib.clip_grad``: that of torch, which takes the same."""
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


class FastLayerNorm(nn.LayerNorm):
    """``apex.contrib.layer_norm``: the same parameters under the same names; ``memory_efficient`` is nothing here."""

    def __init__(self, hidden_size, eps=1e-5, memory_efficient=False):
        super().__init__(hidden_size, eps=eps)
        self.epsilon = eps
        self.memory_efficient = memory_efficient
