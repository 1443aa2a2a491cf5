# mypy: ignore-errors
"""The trainable bilateral filter over volumes of one channel: the filter, its derivatives, and the backward pass.

float32 and float64. Places outside of the volume count for nothing. The volume is moved once for each place of the
window, whose sizes follow from the widths, which are asked of the device as the binding does.
"""

import itertools
import math

import torch


def _window(width):
    """How far the window reaches to each side; the product is one of float32, as in the kernel."""
    size = max(math.ceil(float(torch.tensor(5.0) * torch.tensor(width, dtype=torch.float32))) | 1, 5)
    return size // 2


def _ready(volume, widths):
    if volume.dim() != 5 or volume.shape[1] != 1:
        raise NotImplementedError("made for (batch, 1, x, y, z): of more channels the kernel gives the sum in each")
    return [width.item() if torch.is_tensor(width) else float(width) for width in widths]


def _moves(sizes, widths):
    """For each place of the window: how far away it is, its weight, and the parts of the volume that lie so."""
    ranges = [range(-min(_window(s), n - 1), min(_window(s), n - 1) + 1) for n, s in zip(sizes, widths)]  # noqa: B905
    for move in itertools.product(*ranges):
        share = math.exp(sum(-step * step / (2 * width * width) for step, width in zip(move, widths)))  # noqa: B905
        home = tuple(slice(max(0, -step), n - max(0, step)) for step, n in zip(move, sizes))  # noqa: B905
        there = tuple(slice(max(0, step), n - max(0, -step)) for step, n in zip(move, sizes))  # noqa: B905
        yield move, share, (..., *home), (..., *there)


def forward_3d(input, sigma_x, sigma_y, sigma_z, color_sigma):
    """The result, sums of weights, and the result's derivatives: by the middle, the color's width, and in x, y, z."""
    *widths, color = _ready(input, (sigma_x, sigma_y, sigma_z, color_sigma))
    total, values = torch.zeros_like(input), torch.zeros_like(input)
    # Derivatives of the sum of weights, and of the sum of values: by the middle, the color's width, x, y and z.
    of_weights = [torch.zeros_like(input) for _ in range(5)]
    of_values = [torch.zeros_like(input) for _ in range(5)]
    for move, share, home, there in _moves(input.shape[2:], widths):
        value = input[there]
        apart = input[home] - value
        weight = share * torch.exp(apart * apart * (-1 / (2 * color * color)))
        total[home] += weight
        values[home] += weight * value
        factors = [-apart / color**2, apart * apart / abs(color) ** 3]
        factors += [step * step / abs(width) ** 3 for step, width in zip(move, widths)]  # noqa: B905
        for factor, one, other in zip(factors, of_weights, of_values):  # noqa: B905
            one[home] += weight * factor
            other[home] += weight * factor * value
    result = values / total
    of_values[0] += 1
    slopes = [(other - result * one) / total for one, other in zip(of_weights, of_values)]  # noqa: B905
    return (result, total, *slopes)


def backward_3d(gradient, input, output, weights, dO_dx_ki, sigma_x, sigma_y, sigma_z, color_sigma):
    """The gradient for the input; what ``forward_3d`` gave is given back."""
    *widths, color = _ready(input, (sigma_x, sigma_y, sigma_z, color_sigma))
    found = gradient * dO_dx_ki
    part = gradient / weights
    for move, share, home, there in _moves(input.shape[2:], widths):
        if any(move):
            middle, apart = input[home], input[there] - input[home]
            weight = share * torch.exp(apart * apart * (-1 / (2 * color * color)))
            found[home] += part[there] * weight * (1 + (middle - output[there]) * apart / color**2)
    return found
