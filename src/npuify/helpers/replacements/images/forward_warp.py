# mypy: ignore-errors
"""Pixels carried along by a flow and added up where they arrive: Forward-Warp.

float32 and float64. The four shares of all pixels are held, where the kernel holds none. A pixel whose four places do
not all lie in the image goes nowhere, and its flow has no gradient; the kernel leaves that unwritten.
"""

import torch


def _ends(flow, width, height):
    """For each pixel of (batch, rows, columns, 2): where it goes, the place above on the left, whether it arrives."""
    rows, columns = flow.shape[1:3]
    x = torch.arange(columns, device=flow.device) + flow[..., 0]
    y = torch.arange(rows, device=flow.device)[:, None] + flow[..., 1]
    left, top = x.floor(), y.floor()
    there = (left >= 0) & (left + 1 < width) & (top >= 0) & (top + 1 < height)
    place = torch.where(there, top * width + left, torch.zeros_like(top)).long()
    return x - left, y - top, place, there


def _shares(x, y):
    """The shares of the places above, beside, below, and how far behind the first each lies: right, down."""
    return (((1 - x) * (1 - y), 0, 0), (x * (1 - y), 1, 0), ((1 - x) * y, 0, 1), (x * y, 1, 1))


def _nearest(flow, width, height):
    rows, columns = flow.shape[1:3]
    x = torch.arange(columns, device=flow.device) + flow[..., 0]
    y = torch.arange(rows, device=flow.device)[:, None] + flow[..., 1]
    x, y = (torch.sign(one) * torch.floor(one.abs() + 0.5) for one in (x, y))
    there = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return torch.where(there, y * width + x, torch.full_like(x, width * height)).long(), there


def forward(im0, flow, interpolation_mode):
    """(batch, channels, height, width) along (batch, height, width, 2): bilinear (0) or to the nearest pixel (1)."""
    batch, channels, height, width = im0.shape
    flat = im0.flatten(2)
    if interpolation_mode == 1:
        # Of pixels that arrive at one place one is taken, as in the kernel.
        place, _ = _nearest(flow, width, height)
        longer = im0.new_zeros(batch, channels, height * width + 1)
        made = longer.scatter(2, place.reshape(batch, 1, -1).expand(-1, channels, -1), flat)
        return made[..., :-1].reshape(im0.shape)
    x, y, place, there = _ends(flow, width, height)
    out = im0.new_zeros(batch, channels, height * width)
    for share, right, down in _shares(x, y):
        share = torch.where(there, share, torch.zeros_like(share)).reshape(batch, 1, -1)
        at = torch.where(there, place + right + down * width, place).reshape(batch, 1, -1)
        out = out.scatter_add(2, at.expand(-1, channels, -1), flat * share)
    return out.reshape(im0.shape)


def backward(grad_output, im0, flow, interpolation_mode):
    """The gradients of image and flow."""
    batch, channels, height, width = im0.shape
    grad, flat = grad_output.flatten(2), im0.flatten(2)
    if interpolation_mode == 1:
        place, there = _nearest(flow, width, height)
        at = place.clamp(max=height * width - 1).reshape(batch, 1, -1).expand(-1, channels, -1)
        seen = torch.where(there.reshape(batch, 1, -1), grad.gather(2, at), torch.zeros_like(grad))
        return [seen.reshape(im0.shape), torch.zeros_like(flow)]
    x, y, place, there = _ends(flow, width, height)
    of_image, of_x, of_y = torch.zeros_like(flat), torch.zeros_like(x), torch.zeros_like(y)
    for share, right, down in _shares(x, y):
        at = torch.where(there, place + right + down * width, place).reshape(batch, 1, -1).expand(-1, channels, -1)
        seen = torch.where(there.reshape(batch, 1, -1), grad.gather(2, at), torch.zeros_like(grad))
        of_image = of_image + seen * share.reshape(batch, 1, -1)
        pull = (seen * flat).sum(1).reshape(x.shape)
        of_x = of_x + (pull if right else -pull) * (y if down else 1 - y)
        of_y = of_y + (pull if down else -pull) * (x if right else 1 - x)
    return [of_image.reshape(im0.shape), torch.stack([of_x, of_y], -1)]
