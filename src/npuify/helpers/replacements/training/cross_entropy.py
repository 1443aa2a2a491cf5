# mypy: ignore-errors
"""The cross entropy of softmax, with smoothed labels and without, as apex and fused_ops have it: forward and backward.

Any number of classes; float16, bfloat16, float32 and float64, computed in float32 or double precision. The forward pass
keeps one number for each row, and the backward pass makes the softmax again from the logits.
"""

import torch


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def forward_smoothed(input, labels, smoothing, half_to_float):
    """The loss of each row, and the logarithm of its sum of exponentials, in float32 if ``half_to_float``."""
    logits = _wide(input)
    normalizer = torch.logsumexp(logits, 1)
    chosen = logits.gather(1, labels[:, None])[:, 0]
    losses = normalizer - chosen * (1 - smoothing)
    if smoothing:
        losses = losses - logits.mean(1) * smoothing
    return [losses, normalizer if half_to_float else normalizer.to(input.dtype)]


def backward_smoothed(grad_loss, logits, max_log_sum_exp, labels, smoothing):
    share = torch.exp(_wide(logits) - _wide(max_log_sum_exp)[:, None])
    if smoothing:
        share = share - smoothing / logits.shape[1]
    own = torch.full_like(share[:, :1], smoothing - 1)
    share = share.scatter_add(1, labels[:, None], own)
    return (share * _wide(grad_loss.reshape(-1))[:, None]).to(logits.dtype)


def forward(input, labels, half_to_float):
    return forward_smoothed(input, labels, 0.0, half_to_float)


def backward(grad_loss, logits, max_log_sum_exp, labels):
    return backward_smoothed(grad_loss, logits, max_log_sum_exp, labels, 0.0)
