# mypy: ignore-errors
"""Megatron's and apex's softmax of attention scores: scaled, masked, or without what comes later.

Computed in float32, and rounded once, as in the kernels; any shape, where they take up to 2048 or 16384 keys. Each
call makes the scaled scores in float32 once. The backward pass returns a new tensor; kernels write into the gradient.
"""

import torch

_MASKED = -10000.0
"""What stands for a masked score."""


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _masked(scores, mask, scale_factor):
    return (_wide(scores) * scale_factor).masked_fill(mask.to(torch.bool), _MASKED)


def masked_forward(inputs, mask, scale_factor):
    """Masked scores are -10000: where all are, all count the same."""
    return torch.softmax(_masked(inputs, mask, scale_factor), -1).to(inputs.dtype)


def masked_or_zero_forward(inputs, mask, scale_factor):
    """apex's: a row in which all is masked gives zeros."""
    scores = _masked(inputs, mask, scale_factor)
    some = (scores.amax(-1, keepdim=True) != _MASKED).to(scores.dtype)
    return (torch.softmax(scores, -1) * some).to(inputs.dtype)


def generic_forward(inputs, mask, scale_factor):
    """apex's for any number of keys: a row whose best score is -9999.9 or less gives zeros."""
    scores = _masked(inputs, mask, scale_factor)
    some = (scores.amax(-1, keepdim=True) >= _MASKED + 0.1).to(scores.dtype)
    return (torch.softmax(scores, -1) * some).to(inputs.dtype)


def without_masked_forward(inputs, mask, scale_factor):
    """Megatron-DeepSpeed's: masked scores count nothing, and a row in which all is masked gives zeros."""
    hidden = mask.to(torch.bool)
    scores = (_wide(inputs) * scale_factor).masked_fill(hidden, float("-inf"))
    whole = hidden.all(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(whole, 0.0), -1).masked_fill(whole, 0.0).to(inputs.dtype)


def scaled_forward(inputs, scale_factor):
    """Without a mask."""
    return torch.softmax(_wide(inputs) * scale_factor, -1).to(inputs.dtype)


def upper_forward(inputs, scale_factor):
    """(batches, time, time): of each row only what is not later counts."""
    time = inputs.shape[-1]
    later = torch.ones(inputs.shape[-2], time, dtype=torch.bool, device=inputs.device).triu(1)
    scores = (_wide(inputs) * scale_factor).masked_fill(later, float("-inf"))
    return torch.softmax(scores, -1).to(inputs.dtype)


def backward(output_grads, softmax_results, scale_factor):
    """The gradient of the scores, for all of these."""
    made, grads = _wide(softmax_results), _wide(output_grads)
    parts = grads * made
    return (scale_factor * (parts - made * parts.sum(-1, keepdim=True))).to(output_grads.dtype)


def get_batch_per_block(query_seq_len, key_seq_len, batches, attn_heads):
    """How many rows a block of the kernel takes: projects ask for it before they choose the kernel."""
    power = 1
    while power < key_seq_len:
        power *= 2
    return 128 // min(power, 32) * (2 if power <= 128 else 1)
