# mypy: ignore-errors
"""OpenFold's softmax of attention scores in place, and its backward pass, which makes the scores' gradient itself.

Computed in float32; the scores are held once in float32 beside what is given.
"""

import torch


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def forward_(inputs, rows, cols):
    """The softmax of ``rows`` rows, written over them."""
    flat = inputs.view(-1, cols)
    flat[:rows] = torch.softmax(_wide(flat[:rows]), -1).to(inputs.dtype)


def backward_(output, d_ov, values, rows, cols_output, cols_values):
    """The gradient of the scores, written over the probabilities ``output``.

    ``values`` are (batches, cols_output, cols_values) in a row, ``d_ov`` the gradient of probabilities times values.
    """
    made = output.view(-1, cols_output)[:rows]
    # As many rows of scores belong to one set of values as a score has columns, as the kernel has it.
    grads = _wide(d_ov.reshape(-1, cols_output, cols_values)) @ _wide(
        values.reshape(-1, cols_output, cols_values)
    ).transpose(-1, -2)
    grads, wide = grads.reshape(-1, cols_output)[:rows], _wide(made)
    made.copy_((grads - (wide * grads).sum(-1, keepdim=True)) * wide)
