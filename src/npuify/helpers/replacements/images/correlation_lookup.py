# mypy: ignore-errors
"""Correlations of features at and around given coordinates, as RAFT and its relatives look them up.

``alternate_*`` computes the products of features where they are asked for, ``sampler_*`` reads them from a volume. The
coordinates get no gradient, as in the kernels. ``alternate_forward`` gathers one column of neighbours of all pixels at
once, ``2 * radius + 2`` times as many features as there are pixels; the number of channels is a multiple of 32, as the
kernel needs it.
"""

import torch


def alternate_forward(fmap1, fmap2, coords, radius):
    """The products of each pixel's features with those around its coordinates.

    Args:
        fmap1: (batch, height, width, channels).
        fmap2: (batch, height 2, width 2, channels).
        coords: (batch, number, height, width, 2), x and y in pixels of ``fmap2``.

    Returns:
        (batch, number, (2 * radius + 1) ** 2, height, width), the column first; zeros outside.
    """
    batch = coords.shape[0]
    height2, width2, channels = fmap2.shape[1:]
    near = torch.arange(2 * radius + 2, device=coords.device) - radius
    left, top = coords[..., 0].floor(), coords[..., 1].floor()
    right_share, low_share = (coords[..., 0] - left).detach(), (coords[..., 1] - top).detach()
    rows = top.long()[..., None] + near
    first = torch.arange(batch, device=coords.device).reshape(batch, 1, 1, 1, 1) * (height2 * width2)
    flat = fmap2.reshape(batch * height2 * width2, channels)
    columns = []
    for one in range(2 * radius + 2):
        column = left.long()[..., None] + (one - radius)
        there = (rows >= 0) & (rows < height2) & (column >= 0) & (column < width2)
        place = torch.where(there, first + rows * width2 + column, torch.zeros_like(rows))
        seen = flat.index_select(0, place.reshape(-1)).reshape(*place.shape, channels)
        product = (seen * fmap1[:, None, :, :, None]).sum(-1)
        columns.append(torch.where(there, product, torch.zeros_like(product)))
    made = torch.stack(columns, -2)
    right_share, low_share = right_share[..., None, None], low_share[..., None, None]
    made = made[..., :-1, :] * (1 - right_share) + made[..., 1:, :] * right_share
    made = made[..., :-1] * (1 - low_share) + made[..., 1:] * low_share
    return [made.flatten(-2).permute(0, 1, 4, 2, 3).contiguous()]


def alternate_backward(fmap1, fmap2, coords, corr_grad, radius):
    """The gradients of ``fmap1`` and ``fmap2``, and zeros for ``coords``."""
    with torch.enable_grad():
        inputs = [one.detach().requires_grad_() for one in (fmap1, fmap2)]
        result = alternate_forward(*inputs, coords, radius)[0]
    return [*torch.autograd.grad(result, inputs, corr_grad), torch.zeros_like(coords)]


def sampler_forward(volume, coords, radius):
    """The values around an x coordinate, interpolated.

    Args:
        volume: (batch, height, width, width 2).
        coords: (batch, at least 1, height, width), x first.

    Returns:
        (batch, 2 * radius + 1, height, width); zeros outside.
    """
    place, there, share = _around(volume, coords, radius)
    seen = torch.where(there, volume.gather(3, place), torch.zeros_like(volume[:1, :1, :1, :1]))
    return [(seen[..., :-1] * (1 - share) + seen[..., 1:] * share).permute(0, 3, 1, 2).contiguous()]


def sampler_backward(volume, coords, corr_grad, radius):
    """The gradient of ``volume``."""
    place, there, share = _around(volume, coords, radius)
    grad = corr_grad.permute(0, 2, 3, 1)
    at_left, at_right = grad * (1 - share), grad * share
    grad = torch.nn.functional.pad(at_left, (0, 1)) + torch.nn.functional.pad(at_right, (1, 0))
    grad = torch.where(there, grad, torch.zeros_like(grad))
    return [torch.zeros_like(volume).scatter_add(3, place, grad)]


def _around(volume, coords, radius):
    """The places from ``radius`` left of a coordinate to ``radius + 1`` right of it; which exist; the right share."""
    x = coords[:, 0].float()
    left = x.floor()
    place = left.long()[..., None] + torch.arange(2 * radius + 2, device=x.device) - radius
    there = (place >= 0) & (place < volume.shape[3])
    return torch.where(there, place, torch.zeros_like(place)), there, (x - left)[..., None].to(volume.dtype)
