# mypy: ignore-errors
"""apex's operators over lists of tensors: scales, sums, norms, and steps of Adam and Adagrad.

The lists are handed to torch's operators for lists (``torch._foreach_``), which an NPU takes tensor by tensor where it
has no kernel for them; no number is asked of the device. Computed in float32, as in the kernels, for which copies of
half precision tensors are made. ``chunk_size`` says how the kernel works.
"""

import torch


def _wide(tensors):
    return [one if one.dtype in (torch.float32, torch.float64) else one.float() for one in tensors]


def _write(targets, values):
    """The values, rounded to the types of the targets."""
    torch._foreach_copy_(targets, values)


def _tell(noop_flag, tensors):
    """1 where one of the numbers is infinite or none."""
    told = [torch.isfinite(one).all() for one in tensors]
    if told:
        noop_flag.copy_(torch.where(torch.stack(told).all(), noop_flag, torch.ones_like(noop_flag)))


def multi_tensor_scale(chunk_size, noop_flag, tensor_lists, scale):
    """The second list becomes the first times ``scale``."""
    given, targets = tensor_lists
    made = torch._foreach_mul(_wide(given), scale)
    _tell(noop_flag, given)
    _write(targets, made)


def multi_tensor_axpby(chunk_size, noop_flag, tensor_lists, a, b, arg_to_check):
    """The third list becomes ``a`` times the first and ``b`` times the second."""
    x, y, targets = tensor_lists
    made = torch._foreach_add(torch._foreach_mul(_wide(x), a), torch._foreach_mul(_wide(y), b))
    _tell(noop_flag, {0: x, 1: y}.get(arg_to_check, [*x, *y] if arg_to_check == -1 else []))
    _write(targets, made)


def multi_tensor_l2norm(chunk_size, noop_flag, tensor_lists, per_tensor_python=None):
    """The norm of all numbers of the first list, and of each tensor if asked."""
    squares = torch.stack([(one * one).sum() for one in _wide(tensor_lists[0])]).float()
    _tell(noop_flag, [squares])
    each = squares.sqrt() if per_tensor_python else squares.new_empty(0)
    return squares.sum().sqrt().reshape(1), each


def multi_tensor_adam(
    chunk_size, noop_flag, tensor_lists, lr, beta1, beta2, epsilon, step, mode, bias_correction, weight_decay
):
    """A step of Adam for gradients, parameters and both moments. Mode 0: the decay is a part of the gradient."""
    _, params, first, second = tensor_lists
    g, p, m, v = (_wide(one) for one in tensor_lists)
    of_first, of_second = (1 - beta1**step, 1 - beta2**step) if bias_correction == 1 else (1.0, 1.0)
    if mode == 0:
        g = torch._foreach_add(g, p, alpha=weight_decay)
    m = torch._foreach_add(torch._foreach_mul(m, beta1), g, alpha=1 - beta1)
    v = torch._foreach_add(torch._foreach_mul(v, beta2), torch._foreach_mul(g, g), alpha=1 - beta2)
    below = torch._foreach_add(torch._foreach_sqrt(torch._foreach_div(v, of_second)), epsilon)
    way = torch._foreach_div(torch._foreach_div(m, of_first), below)
    if mode != 0:
        way = torch._foreach_add(way, p, alpha=weight_decay)
    for targets, values in ((params, torch._foreach_add(p, way, alpha=-lr)), (first, m), (second, v)):
        _write(targets, values)


def multi_tensor_adagrad(chunk_size, noop_flag, tensor_lists, lr, epsilon, mode, weight_decay):
    """A step of Adagrad for the lists of gradients, parameters and sums of squares."""
    _, params, sums = tensor_lists
    g, p, h = (_wide(one) for one in tensor_lists)
    if mode == 0:
        g = torch._foreach_add(g, p, alpha=weight_decay)
    h = torch._foreach_add(h, torch._foreach_mul(g, g))
    way = torch._foreach_div(g, torch._foreach_add(torch._foreach_sqrt(h), epsilon))
    if mode != 0:
        way = torch._foreach_add(way, p, alpha=weight_decay)
    _write(params, torch._foreach_add(p, way, alpha=-lr))
    _write(sums, h)
