"""Pixels carried along by a flow against a loop over pixels."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _carried(image: Any, flow: Any) -> Any:
    out = torch.zeros_like(image)
    height, width = image.shape[2:]
    for b, y, x in itertools.product(range(len(image)), range(height), range(width)):
        to_x, to_y = x + flow[b, y, x, 0].item(), y + flow[b, y, x, 1].item()
        left, top = math.floor(to_x), math.floor(to_y)
        if left >= 0 and left + 1 < width and top >= 0 and top + 1 < height:
            for down, right in itertools.product((0, 1), (0, 1)):
                share = (1 - abs(to_x - left - right)) * (1 - abs(to_y - top - down))
                out[b, :, top + down, left + right] += share * image[b, :, y, x]
    return out


def test_bilinear() -> None:
    warp, image, flow = module("forward_warp"), numbers(2, 2, 4, 5), numbers(2, 4, 5, 2, seed=1, low=-1.9, high=1.9)
    close(warp.forward(image, flow, 0), _carried(image, flow))
    grad = numbers(2, 2, 4, 5, seed=2)
    of_image, of_flow = warp.backward(grad, image, flow, 0)
    close(of_image, differences(_carried, [image, flow], 0, grad), 1e-6)
    close(of_flow, differences(_carried, [image, flow], 1, grad), 1e-6)


def test_nearest() -> None:
    warp, image = module("forward_warp"), numbers(1, 2, 3, 4)
    flow = torch.zeros(1, 3, 4, 2).double()
    flow[..., 0], flow[0, 1, 2] = 1.4, torch.tensor([-9.0, 0])  # each pixel one to the right; one goes away
    made, wanted = warp.forward(image, flow, 1), torch.zeros_like(image)
    wanted[..., 1:] = image[..., :-1]
    wanted[0, :, 1, 3] = 0
    close(made, wanted)
    grad = numbers(1, 2, 3, 4, seed=1)
    of_image, of_flow = warp.backward(grad, image, flow, 1)
    wanted = torch.zeros_like(image)
    wanted[..., :-1] = grad[..., 1:]
    wanted[0, :, 1, 2] = 0
    close(of_image, wanted)
    assert of_flow.abs().sum() == 0
