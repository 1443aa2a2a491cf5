"""Pixels carried along and added up, against a loop over pixels."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _carried(frame: Any, flow: Any) -> Any:
    """Each pixel to the four places around where it arrives; what lies outside is lost."""
    out = torch.zeros_like(frame)
    batch, _, height, width = frame.shape
    for b, y, x in itertools.product(range(batch), range(height), range(width)):
        to_x, to_y = x + flow[b, 0, y, x].item(), y + flow[b, 1, y, x].item()
        left, top = math.floor(to_x), math.floor(to_y)
        for row, column in itertools.product((top, top + 1), (left, left + 1)):
            if 0 <= row < height and 0 <= column < width:
                out[b, :, row, column] += (1 - abs(to_x - column)) * (1 - abs(to_y - row)) * frame[b, :, y, x]
    return out


@pytest.mark.parametrize(("height", "width", "far"), [(4, 5, 1.9), (1, 6, 2.7), (5, 3, 40.0)])
def test_forward_and_backward(height: int, width: int, far: float) -> None:
    splatting = module("splatting")
    frame, flow = numbers(2, 3, height, width), numbers(2, 2, height, width, seed=1, low=-far, high=far)
    out = numbers(*frame.shape, seed=5)
    before = out.clone()
    splatting.splatting_forward_cuda(frame, flow, out)
    close(out - before, _carried(frame, flow))
    grad, of_frame, of_flow = numbers(*frame.shape, seed=2), torch.zeros_like(frame), torch.zeros_like(flow)
    splatting.splatting_backward_cuda(frame, flow, grad, of_frame, of_flow)
    close(of_frame, differences(_carried, [frame, flow], 0, grad), 1e-6)
    close(of_flow, differences(_carried, [frame, flow], 1, grad), 1e-6)


def test_a_flow_to_whole_places() -> None:
    """There the slope is that to the right and below, as in the kernel."""
    splatting, frame = module("splatting"), numbers(1, 1, 3, 4)
    flow = torch.zeros(1, 2, 3, 4).double()
    flow[:, 0] = 1
    out = torch.zeros_like(frame)
    splatting.splatting_forward_cuda(frame, flow, out)
    close(out[..., 1:], frame[..., :-1])
    assert (out[..., 0] == 0).all()
    grad, of_frame, of_flow = numbers(1, 1, 3, 4, seed=3), torch.zeros_like(frame), torch.zeros_like(flow)
    splatting.splatting_backward_cuda(frame, flow, grad, of_frame, of_flow)
    right = torch.zeros_like(grad)
    right[..., :-2] = frame[..., :-2] * (grad[..., 2:] - grad[..., 1:-1])
    right[..., 2] = -frame[..., 2] * grad[..., 3]  # the place to the right of the last lies outside
    close(of_flow[:, :1], right)
