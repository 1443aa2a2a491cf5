# mypy: ignore-errors
"""Pixels carried along by a flow, their shares added up where they arrive: summation splatting (hperrot/splatting).

Average, linear and softmax splatting are made of it in Python. float16, float32 and float64; the four shares of all
pixels are held, where the kernel holds none. A share that arrives outside is lost, and has no gradient.
"""

import torch


def _shares(flow, height, width):
    """For each of the four places: its share of a pixel, whether it lies inside, where, and its slopes by x and y."""
    rows, columns = flow.shape[2:]
    x = torch.arange(columns, device=flow.device, dtype=flow.dtype) + flow[:, 0]
    y = torch.arange(rows, device=flow.device, dtype=flow.dtype)[:, None] + flow[:, 1]
    left, top = x.floor(), y.floor()
    for down in (0, 1):
        for right in (0, 1):
            column, row = left + right, top + down
            there = (column >= 0) & (column < width) & (row >= 0) & (row < height)
            place = torch.where(there, row * width + column, torch.zeros_like(row)).long()
            of_x, of_y = (x - left, y - top)
            of_x = of_x if right else 1 - of_x
            of_y = of_y if down else 1 - of_y
            nothing = torch.zeros_like(of_x)
            share = torch.where(there, of_x * of_y, nothing)
            slopes = (
                torch.where(there, of_y if right else -of_y, nothing),
                torch.where(there, of_x if down else -of_x, nothing),
            )
            yield share.flatten(1)[:, None], place.flatten(1)[:, None], there.flatten(1)[:, None], slopes


def splatting_forward_cuda(frame, flow, output):
    """(batch, channels, height, width) along (batch, 2, height, width), added to ``output``."""
    height, width = frame.shape[2:]
    flat, made = frame.flatten(2), torch.zeros_like(frame).flatten(2)
    for share, place, _, _ in _shares(flow, height, width):
        made = made.scatter_add(2, place.expand_as(flat), flat * share)
    output.add_(made.reshape(frame.shape))


def splatting_backward_cuda(frame, flow, grad_output, grad_frame, grad_flow):
    """The gradients, added to ``grad_frame`` and ``grad_flow``."""
    height, width = frame.shape[2:]
    flat, grad = frame.flatten(2), grad_output.flatten(2)
    of_frame, of_flow = torch.zeros_like(flat), torch.zeros_like(flow)
    for share, place, there, slopes in _shares(flow, height, width):
        seen = torch.where(there, grad.gather(2, place.expand_as(flat)), torch.zeros_like(grad))
        of_frame = of_frame + seen * share
        pull = (seen * flat).sum(1).reshape(slopes[0].shape)
        of_flow = of_flow + torch.stack([pull * slopes[0], pull * slopes[1]], 1)
    grad_frame.add_(of_frame.reshape(frame.shape))
    grad_flow.add_(of_flow)
