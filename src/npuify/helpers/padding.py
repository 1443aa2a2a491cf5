# mypy: ignore-errors
"""What flash_attn's ``bert_padding`` does, in plain PyTorch: batches with padding to rows without it, and back."""

import torch
from torch.nn import functional


def index_first_axis(input, indices):
    """The rows of ``input`` that ``indices`` names."""
    return torch.index_select(input, 0, indices)


def index_put_first_axis(values, indices, first_axis_dim):
    """``first_axis_dim`` rows of zeros, with ``values`` at ``indices``."""
    return values.new_zeros((first_axis_dim, *values.shape[1:])).index_copy(0, indices, values)


def unpad_input_used(hidden_states, attention_mask, unused_mask=None):
    """``unpad_input`` of flash_attn 2.7 and later: the rows that a mask keeps, where they stood, where each sequence
    begins, the longest, and how much of each is used."""
    kept = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = kept.sum(dim=-1, dtype=torch.int32)
    indices = torch.nonzero(kept.flatten(), as_tuple=False).flatten()
    begins = functional.pad(torch.cumsum(lengths, dim=0, dtype=torch.int32), (1, 0))
    rows = index_first_axis(hidden_states.flatten(0, 1), indices)
    return rows, indices, begins, lengths.max().item(), attention_mask.sum(dim=-1, dtype=torch.int32)


def unpad_input(hidden_states, attention_mask):
    """``unpad_input`` of flash_attn before 2.7, which returns four values."""
    return unpad_input_used(hidden_states, attention_mask)[:4]


def pad_input(hidden_states, indices, batch, seqlen):
    """The rows of ``hidden_states`` in a batch of ``seqlen`` rows each, zeros elsewhere."""
    return index_put_first_axis(hidden_states, indices, batch * seqlen).unflatten(0, (batch, seqlen))
