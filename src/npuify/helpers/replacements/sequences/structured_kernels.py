# mypy: ignore-errors
"""S4's products with matrices of Cauchy's and Vandermonde's kind, forward and backward.

Complex numbers are taken as pairs of real ones, since an NPU has few operators for complex types: only what comes in
and goes out is complex. All pairs of poles and places at once, in slices of at most 2**24. Any number of poles.
"""

import torch

_AT_ONCE = 2**24


def _split(number):
    pair = torch.view_as_real(number.resolve_conj())
    return pair[..., 0], pair[..., 1]


def _joined(real, imaginary):
    return torch.view_as_complex(torch.stack([real, imaginary], -1).contiguous())


def _times(a, b):
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _over(a, b):
    """``a / b``."""
    below = b[0] * b[0] + b[1] * b[1]
    return (a[0] * b[0] + a[1] * b[1]) / below, (a[1] * b[0] - a[0] * b[1]) / below


def _parts(places, poles):
    step = max(1, _AT_ONCE // max(1, poles))
    return [slice(begin, min(begin + step, places)) for begin in range(0, places, step)]


def cauchy_mult_sym_fwd(v, z, w):
    """(batch, places): the sum over poles of ``v / (z - w) + conj(v) / (z - conj(w))``."""
    (v_re, v_im), (w_re, w_im), (z_re, z_im) = (tuple(one[..., None] for one in _split(x)) for x in (v, w, z))
    z_re, z_im = z_re[:, 0], z_im[:, 0]
    made = []
    for part in _parts(len(z), v.numel()):
        real = z_re[part] - w_re
        one = _over((v_re, v_im), (real, z_im[part] - w_im))
        two = _over((v_re, -v_im), (real, z_im[part] + w_im))
        made.append(_joined((one[0] + two[0]).sum(1), (one[1] + two[1]).sum(1)))
    return torch.cat(made, 1) if made else v.new_zeros(len(v), 0)


def cauchy_mult_sym_bwd(v, z, w, dout):
    """The gradients of ``v`` and ``w``."""
    w_re, w_im = (one[..., None] for one in _split(w))
    z_re, z_im = _split(z)
    of_v, of_w = (0, 0), (0, 0)
    for part in _parts(len(z), v.numel()):
        d_re, d_im = (one[:, None, part] for one in _split(dout))
        real = z_re[part] - w_re
        below1, below2 = (real, w_im - z_im[part]), (real, z_im[part] + w_im)
        one, two = _over((d_re, d_im), below1), _over((d_re, -d_im), below2)
        of_v = tuple(a + (b + c).sum(-1) for a, b, c in zip(of_v, one, two))  # noqa: B905
        one, two = _over(one, below1), _over(two, below2)
        of_w = tuple(a + (b + c).sum(-1) for a, b, c in zip(of_w, one, two))  # noqa: B905
    v_re, v_im = _split(v)
    return _joined(*of_v), _joined(*_times(of_w, (v_re, -v_im)))


def _powers(x, part):
    """The real and imaginary parts of ``exp(x * l)`` for some places ``l``."""
    x_re, x_im = (one[..., None] for one in _split(x))
    place = torch.arange(part.start, part.stop, device=x.device, dtype=x_re.dtype)
    size = torch.exp(x_re * place)
    return (size * torch.cos(x_im * place), size * torch.sin(x_im * place)), place


def vand_log_mult_sym_fwd(v, x, L):
    """(batch, L), real: twice the real part of the sum over poles of ``v * exp(x * l)``."""
    v_re, v_im = (one[..., None] for one in _split(v))
    made = []
    for part in _parts(L, v.numel()):
        (real, imaginary), _ = _powers(x, part)
        made.append(2 * (real * v_re - imaginary * v_im).sum(1))
    return torch.cat(made, 1) if made else v_re.new_zeros(len(v), 0)


def vand_log_mult_sym_bwd(v, x, dout):
    """The gradients of ``v`` and ``x``."""
    of_v, of_x = (0, 0), (0, 0)
    for part in _parts(dout.shape[1], v.numel()):
        (real, imaginary), place = _powers(x, part)
        grad = dout[:, None, part]
        one = (grad * real, -grad * imaginary)
        of_v = tuple(a + 2 * b.sum(-1) for a, b in zip(of_v, one))  # noqa: B905
        of_x = tuple(a + 2 * (b * place).sum(-1) for a, b in zip(of_x, one))  # noqa: B905
    v_re, v_im = _split(v)
    return _joined(*of_v), _joined(*_times(of_x, (v_re, -v_im)))
