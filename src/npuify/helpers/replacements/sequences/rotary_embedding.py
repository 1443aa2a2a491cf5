# mypy: ignore-errors
"""apex's rotary embedding: (time, batch, heads, size) turned by angles (time, 1, 1, turned), halves against each other.

Sines and cosines are rounded to the type of what is turned, as in the kernel. Some elementwise operators over the input
take the place of one kernel.
"""

import torch


def _turned(inputs, cos, sin, transpose_output, back):
    turned = cos.shape[-1]
    cos, sin = (one.to(inputs.dtype).reshape(inputs.shape[0], 1, 1, turned) for one in (cos, sin))
    part, rest = inputs[..., :turned], inputs[..., turned:]
    if back:
        first, second = (part * sin).chunk(2, -1)
        other = torch.cat([second, -first], -1)
    else:
        first, second = part.chunk(2, -1)
        other = torch.cat([-second, first], -1) * sin
    out = torch.cat([part * cos + other, rest], -1)
    # The memory of batches lies together then.
    return out.transpose(0, 1).contiguous().transpose(0, 1) if transpose_output else out


def forward(inputs, freqs, transpose_output):
    """Turned by the angles ``freqs``, float32."""
    return _turned(inputs, torch.cos(freqs), torch.sin(freqs), transpose_output, False)


def backward(output_grads, freqs, transpose_output):
    """The gradient of what was turned."""
    return _turned(output_grads, torch.cos(freqs), torch.sin(freqs), transpose_output, True)


def forward_cached(inputs, cos, sin, transpose_output):
    """The same, with cosines and sines at hand."""
    return _turned(inputs, cos, sin, transpose_output, False)


def backward_cached(output_grads, cos, sin, transpose_output):
    """The gradient of what was turned."""
    return _turned(output_grads, cos, sin, transpose_output, True)
