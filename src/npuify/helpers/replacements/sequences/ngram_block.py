# mypy: ignore-errors
"""fairseq's ban of n-grams that a hypothesis already has, on log probabilities.

All begins are compared at once, with shapes that depend on the step only; (rows, vocabulary) counts are held. There is
no gradient, as in the kernel.
"""

import torch


def forward(tokens, lprobs, bsz, step, beam_size, no_repeat_ngram_size):
    """``lprobs``, (rows, vocabulary), in which the token is -inf that would end an n-gram anew."""
    begins = step - no_repeat_ngram_size + 2
    if begins <= 0:
        return lprobs
    size, rows = no_repeat_ngram_size, bsz * beam_size
    grams = tokens[:rows, : begins + size - 1].unfold(1, size, 1)
    last = tokens[:rows, begins : begins + size - 1]
    same = (grams[..., : size - 1] == last[:, None]).all(-1)
    counts = torch.zeros_like(lprobs[:rows]).scatter_add_(1, grams[..., size - 1], same.to(lprobs.dtype))
    lprobs[:rows].masked_fill_(counts > 0, float("-inf"))
    return lprobs
