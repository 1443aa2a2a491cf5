"""Filters, windows, regions and pixels that move."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from tools.public_kernels.beside import DEVICE, beside, far, given, module, stand_in

if TYPE_CHECKING:
    from pathlib import Path


def bilateral(root: Path) -> float:
    stand_in("bilateralfilter_cpu_lib")
    layers = module(root, "bilateral_filter_layer")
    widths = (0.8, 1.1, 0.6, 0.5)

    def moved(volume: Any, sigmas: Any) -> Any:
        """The volume moved to each place of the window, filled up with zeros that count for nothing."""
        reach = [max(math.ceil(5 * one) | 1, 5) // 2 for one in widths[:3]]
        around = (reach[2], reach[2], reach[1], reach[1], reach[0], reach[0])
        padded, inside = (functional.pad(one, around) for one in (volume, torch.ones_like(volume)))
        top: Any = 0
        below: Any = 0
        for place in itertools.product(*(range(2 * one + 1) for one in reach)):
            at = (slice(None), slice(None), *(slice(k, k + n) for k, n in zip(place, volume.shape[2:], strict=True)))
            apart = sum((k - r) ** 2 / (2 * s * s) for k, r, s in zip(place, reach, sigmas[:3], strict=True))
            share = inside[at] * torch.exp(-apart - (padded[at] - volume) ** 2 / (2 * sigmas[3] ** 2))
            top, below = top + share * padded[at], below + share
        return top / below

    layer = layers.BilateralFilter3d(*widths, use_gpu=True).to(DEVICE)
    sigmas = [torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in widths]
    worst = beside(layer, lambda volume: moved(volume, sigmas), given(1, 1, 5, 4, 6, low=0, high=1))
    ours = (layer.sigma_x, layer.sigma_y, layer.sigma_z, layer.color_sigma)
    return max(worst, *(far(a.grad.reshape(()), b.grad) for a, b in zip(ours, sigmas, strict=True)))


def swin(root: Path) -> float:
    windows = module(root, "kernels.window_process.window_process")
    high = wide = 12
    size, shift = 4, -2

    def cut(x: Any) -> Any:
        rolled = torch.roll(x, (shift, shift), (1, 2)).reshape(2, 3, size, 3, size, 8)
        return rolled.permute(0, 1, 3, 2, 4, 5).reshape(-1, size, size, 8)

    def put_together(x: Any) -> Any:
        whole = x.reshape(2, 3, 3, size, size, 8).permute(0, 1, 3, 2, 4, 5).reshape(2, high, wide, 8)
        return torch.roll(whole, (-shift, -shift), (1, 2))

    ours = lambda x: windows.WindowProcess.apply(x, 2, high, wide, 8, shift, size)  # noqa: E731
    back = lambda x: windows.WindowProcessReverse.apply(x, 2, high, wide, 8, -shift, size)  # noqa: E731
    return max(beside(ours, cut, given(2, high, wide, 8)), beside(back, put_together, given(18, size, size, 8)))


def splatting(root: Path) -> float:
    stand_in("splatting.cpu", splatting_forward_cpu=None, splatting_backward_cpu=None)
    splats = module(root, "splatting.splatting", "splatting")

    def summed(frame: Any, flow: Any) -> Any:
        """Each pixel carried to the four places around where it goes, one after the other."""
        made = torch.zeros_like(frame)
        count, _, high, wide = frame.shape
        for n, y, x in itertools.product(range(count), range(high), range(wide)):
            to_x, to_y = x + flow[n, 0, y, x], y + flow[n, 1, y, x]
            left, top = math.floor(to_x.item()), math.floor(to_y.item())
            for at_x, at_y in itertools.product((left, left + 1), (top, top + 1)):
                if 0 <= at_x < wide and 0 <= at_y < high:
                    share = (1 - (to_x - at_x).abs()) * (1 - (to_y - at_y).abs())
                    spot = torch.zeros_like(made)
                    spot[n, :, at_y, at_x] = 1
                    made = made + spot * (frame[n, :, y, x] * share)[None, :, None, None]
        return made

    def reference(kind: str, frame: Any, flow: Any, metric: Any) -> Any:
        if kind == "summation":
            return summed(frame, flow)
        weight = {"average": torch.ones_like(metric), "linear": metric, "softmax": metric.exp()}[kind]
        whole = summed(torch.cat([frame * weight, weight], 1), flow)
        return whole[:, :-1] / (whole[:, -1:] + 1e-7)

    frame, flow, metric = given(1, 2, 5, 6), given(1, 2, 5, 6, low=-2, high=2), given(1, 1, 5, 6, low=0.5, high=1)
    worst = 0.0
    for kind in ("summation", "average", "linear", "softmax"):
        asked = kind in ("linear", "softmax")
        ours = lambda f, g, m, kind=kind, asked=asked: splats.splatting_function(kind, f, g, m if asked else None)  # noqa: E731
        worst = max(worst, beside(ours, lambda f, g, m, kind=kind: reference(kind, f, g, m), frame, flow, metric))
    return worst


def _turned(features: Any, rois: Any, out: int, samples: int, scale: float, *, half: float, turn: float) -> Any:
    """Means of bilinear samples in turned regions, by grid_sample.

    Args:
        half: what is taken from a centre, in pixels of the map.
        turn: 1 where angles turn one way, -1 for the other.
    """
    high, wide = features.shape[2:]
    made = []
    for roi in rois.double():
        x, y, w, h = roi[1:5] * scale
        x, y, angle = x - half, y - half, roi[5] * turn
        steps = (torch.arange(out * samples, dtype=torch.float64) + 0.5) / (out * samples) - 0.5
        across, down = (steps * w)[None, :], (steps * h)[:, None]
        at_x = across * torch.cos(angle) + down * torch.sin(angle) + x
        at_y = down * torch.cos(angle) - across * torch.sin(angle) + y
        grid = torch.stack([at_x * 2 / (wide - 1) - 1, at_y * 2 / (high - 1) - 1], -1)[None]
        seen = functional.grid_sample(features[int(roi[0])][None], grid, align_corners=True)
        made.append(functional.avg_pool2d(seen, samples)[0])
    return torch.stack(made)


_REGIONS = torch.tensor([[0.0, 20, 18, 14, 10, 0], [1, 16, 22, 12, 12, 0], [1, 20, 20, 10, 16, 0]])


def detectron2(root: Path) -> float:
    stand_in("detectron2.layers.wrappers", disable_torch_compiler=lambda function: function)
    layers = module(root, "detectron2.layers.roi_align_rotated", "detectron2", "detectron2.layers")
    degrees = _REGIONS.clone()
    degrees[:, 5] = torch.tensor([30.0, -50, 110])
    layer = layers.ROIAlignRotated((3, 3), 0.5, 2)
    radians = degrees.clone()
    radians[:, 5] *= math.pi / 180
    ours = lambda x: layer(x, degrees.to(DEVICE))  # noqa: E731
    return beside(ours, lambda x: _turned(x, radians, 3, 2, 0.5, half=0.5, turn=1), given(2, 3, 20, 20))


def aerial_detection(root: Path) -> float:
    packages = ("mmdet", "mmdet.ops", "mmdet.ops.roi_align_rotated", "mmdet.ops.roi_align_rotated.functions")
    functions = module(root, "mmdet.ops.roi_align_rotated.functions.roi_align_rotated", *packages)
    rois = _REGIONS.clone()
    rois[:, 5] = torch.tensor([0.5, -0.9, 1.9])
    ours = lambda x: functions.roi_align_rotated(x, rois.to(DEVICE), 3, 0.5, 2)  # noqa: E731
    return beside(ours, lambda x: _turned(x, rois, 3, 2, 0.5, half=0, turn=-1), given(2, 3, 20, 20))


def detecto_rs(root: Path) -> float:
    stand_in("mmcv")
    stand_in("mmcv.cnn", normal_init=None, xavier_init=None)
    carafe = module(root, "mmdet.ops.carafe.carafe", "mmdet", "mmdet.ops", "mmdet.ops.carafe")

    def unfolded(features: Any, masks: Any) -> Any:
        around = functional.unfold(features, 5, padding=2).reshape(2, 2, 2, 25, 6, 7)
        near = around.repeat_interleave(2, 4).repeat_interleave(2, 5)
        return (near * masks.reshape(2, 2, 1, 25, 12, 14)).sum(3).reshape(2, 4, 12, 14)

    inputs = given(2, 4, 6, 7), given(2, 50, 12, 14)
    return max(
        beside(lambda x, m, run=run: run(x, m, 5, 2, 2), unfolded, *inputs)
        for run in (carafe.carafe, carafe.carafe_naive)
    )


PROGRAMS = {
    "faebstn96/trainable-bilateral-filter-source": bilateral,
    "microsoft/Swin-Transformer": swin,
    "hperrot/splatting": splatting,
    "facebookresearch/detectron2": detectron2,
    "dingjiansw101/AerialDetection": aerial_detection,
    "joe-siyuan-qiao/DetectoRS": detecto_rs,
}
