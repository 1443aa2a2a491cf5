# mypy: ignore-errors
"""apex's and Megatron's layer norm and RMS norm, forward and backward, with statistics for the backward pass.

Computed in float32 for half precision; some elementwise operators and sums over the input, which is held in float32
some three times, in place of one kernel. ``memory_efficient``: the input is computed back from the output.
"""

import torch


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _rows(tensor, normalized_shape):
    size = 1
    for one in normalized_shape:
        size *= one
    return _wide(tensor).reshape(-1, size)


def _norm(inputs, normalized_shape, weight, bias, epsilon, dtype, rms):
    rows = _rows(inputs, normalized_shape)
    mean = None if rms else rows.mean(1)
    centred = rows if rms else rows - mean[:, None]
    invvar = torch.rsqrt((centred * centred).mean(1) + epsilon)
    out = centred * invvar[:, None]
    if weight is not None:
        out = out * _wide(weight).reshape(1, -1)
    if bias is not None:
        out = out + _wide(bias).reshape(1, -1)
    out = out.to(dtype).reshape(inputs.shape)
    return [out, invvar] if rms else [out, mean, invvar]


def _clamped(weight, epsilon):
    """No weight is nearer to 0 than ``epsilon``: apex divides by it."""
    wide = _wide(weight).reshape(1, -1)
    least = torch.full_like(wide, epsilon)
    return torch.where(wide >= 0, torch.maximum(wide, least), torch.minimum(wide, -least))


def _gradients(dout, mean, invvar, given, normalized_shape, weight, bias, epsilon, memory_efficient):
    """Of the input, the weight and the bias."""
    grads, rows = _rows(dout, normalized_shape), _rows(given, normalized_shape)
    used = None if weight is None else _wide(weight).reshape(1, -1)
    if memory_efficient:
        # What was given is the output.
        unit = rows if bias is None else rows - _wide(bias).reshape(1, -1)
        if weight is not None:
            used = _clamped(weight, epsilon)
            unit = unit / used
    else:
        unit = (rows if mean is None else rows - _wide(mean)[:, None]) * _wide(invvar)[:, None]
    inner = grads if used is None else grads * used
    of_input = inner - unit * (inner * unit).mean(1, keepdim=True)
    if bias is not None or mean is not None:
        # Here the weight counts as it is.
        whole = grads if weight is None else grads * _wide(weight).reshape(1, -1)
        of_input = of_input - whole.mean(1, keepdim=True)
    of_input = (of_input * _wide(invvar)[:, None]).to(given.dtype).reshape(given.shape)
    of_weight = None if weight is None else (grads * unit).sum(0).to(weight.dtype).reshape(weight.shape)
    of_bias = None if bias is None else grads.sum(0).to(bias.dtype).reshape(bias.shape)
    return of_input, of_weight, of_bias


def forward(inputs, normalized_shape, epsilon):
    """The output, means and reciprocal deviations."""
    return _norm(inputs, normalized_shape, None, None, epsilon, inputs.dtype, False)


def forward_affine(inputs, normalized_shape, gamma, beta, epsilon):
    """With a weight and a bias."""
    return _norm(inputs, normalized_shape, gamma, beta, epsilon, inputs.dtype, False)


def forward_affine_mixed_dtypes(inputs, normalized_shape, gamma, beta, epsilon):
    """The output has the type of the weight."""
    return _norm(inputs, normalized_shape, gamma, beta, epsilon, gamma.dtype, False)


def rms_forward(inputs, normalized_shape, epsilon):
    """The output and reciprocal roots of mean squares."""
    return _norm(inputs, normalized_shape, None, None, epsilon, inputs.dtype, True)


def rms_forward_affine(inputs, normalized_shape, gamma, epsilon):
    """With a weight."""
    return _norm(inputs, normalized_shape, gamma, None, epsilon, inputs.dtype, True)


def rms_forward_affine_mixed_dtypes(inputs, normalized_shape, gamma, epsilon):
    """The output has the type of the weight."""
    return _norm(inputs, normalized_shape, gamma, None, epsilon, gamma.dtype, True)


def backward(dout, mean_, invvar, input_or_output, normalized_shape, epsilon, memory_efficient):
    """The gradient of the input."""
    rows = _rows(dout, normalized_shape)
    mean = torch.zeros_like(rows[:, 0]) if mean_ is None else mean_
    return _gradients(dout, mean, invvar, input_or_output, normalized_shape, None, None, epsilon, memory_efficient)[0]


def backward_affine(dout, mean_, invvar, input_or_output, normalized_shape, gamma, beta, epsilon, memory_efficient):
    """Gradients of the input, the weight and the bias."""
    return list(
        _gradients(dout, mean_, invvar, input_or_output, normalized_shape, gamma, beta, epsilon, memory_efficient)
    )


def rms_backward(dout, invvar, input_or_output, normalized_shape, epsilon, memory_efficient):
    """The gradient of the input."""
    return _gradients(dout, None, invvar, input_or_output, normalized_shape, None, None, epsilon, memory_efficient)[0]


def rms_backward_affine(dout, invvar, input_or_output, normalized_shape, gamma, epsilon, memory_efficient):
    """Gradients of the input and the weight."""
    return list(
        _gradients(dout, None, invvar, input_or_output, normalized_shape, gamma, None, epsilon, memory_efficient)[:2]
    )


def backward_affine_of_input(dout, mean, invvar, inputs, normalized_shape, gamma, beta, epsilon):
    """Megatron's: what is given is the input."""
    return backward_affine(dout, mean, invvar, inputs, normalized_shape, gamma, beta, epsilon, False)
