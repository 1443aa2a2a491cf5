# mypy: ignore-errors
"""apex's operators over lists of tensors: scales, sums, norms, and steps of optimizers.

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


@torch.no_grad()
def multi_tensor_scale(chunk_size, noop_flag, tensor_lists, scale):
    """The second list becomes the first times ``scale``."""
    given, targets = tensor_lists
    made = torch._foreach_mul(_wide(given), scale)
    _tell(noop_flag, given)
    _write(targets, made)


@torch.no_grad()
def multi_tensor_axpby(chunk_size, noop_flag, tensor_lists, a, b, arg_to_check):
    """The third list becomes ``a`` times the first and ``b`` times the second."""
    x, y, targets = tensor_lists
    made = torch._foreach_add(torch._foreach_mul(_wide(x), a), torch._foreach_mul(_wide(y), b))
    _tell(noop_flag, {0: x, 1: y}.get(arg_to_check, [*x, *y] if arg_to_check == -1 else []))
    _write(targets, made)


@torch.no_grad()
def multi_tensor_l2norm(chunk_size, noop_flag, tensor_lists, per_tensor_python=None):
    """The norm of all numbers of the first list, and of each tensor if asked."""
    squares = torch.stack([(one * one).sum() for one in _wide(tensor_lists[0])]).float()
    _tell(noop_flag, [squares])
    each = squares.sqrt() if per_tensor_python else squares.new_empty(0)
    return squares.sum().sqrt().reshape(1), each


@torch.no_grad()
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


@torch.no_grad()
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


@torch.no_grad()
def multi_tensor_sgd(
    chunk_size, noop_flag, tensor_lists, wd, momentum, dampening, lr, nesterov, first_run, wd_after_momentum, scale
):
    """A step of SGD for gradients, parameters and momenta; a fourth list is given the parameters in half precision.

    Nothing moves where ``noop_flag`` is 1.
    """
    _, params, momenta, *copies = tensor_lists
    g, p, m = (_wide(one) for one in tensor_lists[:3])
    g = torch._foreach_mul(g, scale)
    if wd != 0 and not wd_after_momentum:
        g = torch._foreach_add(g, p, alpha=wd)
    if momentum != 0:
        m = g if first_run else torch._foreach_add(torch._foreach_mul(m, momentum), g, alpha=1 - dampening)
        g = torch._foreach_add(g, m, alpha=momentum) if nesterov else m
    if wd != 0 and wd_after_momentum:
        g = torch._foreach_add(g, p, alpha=wd)
    stays = noop_flag.reshape(()) != 0
    _write(params, [torch.where(stays, a, b) for a, b in zip(p, torch._foreach_add(p, g, alpha=-lr))])  # noqa: B905
    if momentum != 0:
        _write(momenta, [torch.where(stays, a, b) for a, b in zip(_wide(momenta), m)])  # noqa: B905
    if copies:
        _write(copies[0], [torch.where(stays, a, b.to(a.dtype)) for a, b in zip(copies[0], params)])  # noqa: B905


@torch.no_grad()
def multi_tensor_lamb(
    chunk_size,
    noop_flag,
    tensor_lists,
    lr,
    beta1,
    beta2,
    epsilon,
    step,
    bias_correction,
    weight_decay,
    grad_averaging,
    mode,
    global_grad_norm,
    max_grad_norm,
    use_nvlamb_python=None,
):
    """A step of LAMB for gradients, parameters and both moments; the way that is gone is left in the gradients."""
    grads, params, first, second = tensor_lists
    g, p, m, v = (_wide(one) for one in tensor_lists)
    of_first, of_second = (1 - beta1**step, 1 - beta2**step) if bias_correction == 1 else (1.0, 1.0)
    norm = global_grad_norm.reshape(())
    clip = torch.where(norm > max_grad_norm, norm / max_grad_norm, torch.ones_like(norm))
    g = [one / clip for one in g]
    if mode == 0:
        g = torch._foreach_add(g, p, alpha=weight_decay)
    m = torch._foreach_add(torch._foreach_mul(m, beta1), g, alpha=1 - beta1 if grad_averaging == 1 else 1.0)
    v = torch._foreach_add(torch._foreach_mul(v, beta2), torch._foreach_mul(g, g), alpha=1 - beta2)
    below = torch._foreach_add(torch._foreach_sqrt(torch._foreach_div(v, of_second)), epsilon)
    way = torch._foreach_div(torch._foreach_div(m, of_first), below)
    if mode != 0:
        way = torch._foreach_add(way, p, alpha=weight_decay)
    sizes = [torch.sqrt((one * one).sum()) for one in p]
    for targets, values in ((grads, way), (first, m), (second, v)):
        _write(targets, values)
    way = _wide(grads)
    for number, one in enumerate(way):
        rate = lr
        if use_nvlamb_python or weight_decay != 0:
            length = torch.sqrt((one * one).sum())
            ratio = sizes[number] / torch.where(length == 0, torch.ones_like(length), length)
            rate = lr * torch.where((length != 0) & (sizes[number] != 0), ratio, torch.ones_like(ratio))
        params[number].copy_(p[number] - rate * one)


@torch.no_grad()
def multi_tensor_novograd(
    chunk_size,
    noop_flag,
    tensor_lists,
    grad_norms,
    lr,
    beta1,
    beta2,
    epsilon,
    step,
    bias_correction,
    weight_decay,
    grad_averaging,
    moment_mode,
    norm_type,
):
    """A step of NovoGrad for gradients, parameters and first moments; ``grad_norms`` has one number for each tensor."""
    _, params, first = tensor_lists
    g, p, m = (_wide(one) for one in tensor_lists)
    of_first, of_second = (1 - beta1**step, (1 - beta2**step) ** 0.5) if bias_correction == 1 else (1.0, 1.0)
    own = 1 - beta1 if grad_averaging == 1 else 1.0
    if norm_type == 0:
        now = torch.stack([one.abs().amax() for one in g]).float()
        norms = beta2 * grad_norms + (1 - beta2) * now
    else:
        now = torch.stack([(one * one).sum() for one in g]).float()
        norms = torch.sqrt(beta2 * grad_norms * grad_norms + (1 - beta2) * now)
    grad_norms.copy_(norms)
    for number in range(len(params)):
        below = norms[number] / of_second + epsilon
        if moment_mode == 0:
            given = g[number] / below + weight_decay * p[number]
            moment = beta1 * m[number] + own * given
            way = moment / of_first
        else:
            moment = beta1 * m[number] + own * g[number]
            way = moment / of_first / below + weight_decay * p[number]
        first[number].copy_(moment)
        params[number].copy_(p[number] - lr * way)
