# mypy: ignore-errors
"""Linear attention that sees nothing of the future: for each time the product with the sum of ``k v`` up to it.

Time is cut into parts of 64, in which scores are computed as in usual attention; of what was before only the sums are
taken. Some products of matrices, and (batch, heads, time / 64, keys, values) sums in memory; float32.
"""

import torch

_PART = 64


def _cut(tensor, parts):
    batch, heads, time, size = tensor.shape
    padded = torch.nn.functional.pad(tensor, (0, 0, 0, parts * _PART - time))
    return padded.reshape(batch, heads, parts, _PART, size)


def _product(queries, keys, values, reverse=False):
    """``sum over j <= i of (q_i . k_j) v_j``, or over ``j >= i``."""
    time = queries.shape[2]
    parts = -(-time // _PART)
    q, k, v = (_cut(one, parts) for one in (queries, keys, values))
    scores = q @ k.transpose(-1, -2)
    inside = (scores.triu() if reverse else scores.tril()) @ v
    sums = k.transpose(-1, -2) @ v
    if reverse:
        others = sums.flip(2).cumsum(2).flip(2) - sums
    else:
        others = sums.cumsum(2) - sums
    out = inside + q @ others
    return out.reshape(*out.shape[:2], parts * _PART, out.shape[-1])[:, :, :time]


def causal_dot_product(queries, keys, values, product):
    """Written into ``product``."""
    product.copy_(_product(queries, keys, values))


def causal_dot_backward(queries, keys, values, grad_out, grad_queries, grad_keys, grad_values):
    """Gradients, written."""
    grad_queries.copy_(_product(grad_out, values, keys))
    grad_keys.copy_(_product(values, grad_out, queries, reverse=True))
    grad_values.copy_(_product(keys, queries, grad_out, reverse=True))
