"""What replacements of CUDA kernels cost: time and memory beside a plain form of the same in PyTorch, on the CPU.

    python benchmarks/kernel_replacements.py [FAMILY ...] [--threads 1]

A CUDA kernel cannot run here, so the other side is what a person would write first: torch's own operator where there is
one, else the definition in whole tensors. Both sides have to give the same results before they are compared. Each runs
in a process of its own; memory is what the process grew by at its peak, and time is CPU time of the better of two runs.
The numbers are ratios, for orders of magnitude; they say nothing of an NPU.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

import replacement_cases

if TYPE_CHECKING:
    from collections.abc import Callable

    Case = tuple[Callable[[], Any], Callable[[], Any]]


_module = replacement_cases.module


def _deform_conv() -> Case:
    """Offsets of 0, against conv2d."""
    image, weight = torch.rand(2, 32, 48, 48), torch.rand(32, 32, 3, 3)
    offset, mask, bias = torch.zeros(2, 18, 48, 48), torch.ones(2, 9, 48, 48), torch.zeros(32)
    function = _module("deform_conv").dcn_v2_forward
    return (
        lambda: function(image, weight, bias, offset, mask, 3, 3, 1, 1, 1, 1, 1, 1, 1),
        lambda: functional.conv2d(image, weight, padding=1),
    )


def _detection() -> Case:
    """Region align, against grid_sample and a mean."""
    maps = torch.rand(1, 64, 50, 50)
    rois = torch.cat([torch.zeros(200, 1), torch.rand(200, 2) * 20, torch.rand(200, 2) * 20 + 25], 1)

    def sampled() -> Any:
        steps = (torch.arange(14) + 0.5) / 14
        x = rois[:, 1:2] + (rois[:, 3:4] - rois[:, 1:2]) * steps
        y = rois[:, 2:3] + (rois[:, 4:5] - rois[:, 2:3]) * steps
        grid = torch.stack([x[:, None].expand(-1, 14, -1), y[:, :, None].expand(-1, -1, 14)], -1) * 2 / 49 - 1
        made = functional.grid_sample(maps, grid.reshape(1, 200 * 14, 14, 2), align_corners=True)
        return functional.avg_pool2d(made.reshape(64, 200, 14, 14).transpose(0, 1), 2)

    function = _module("detection").roi_align_forward
    return lambda: function(maps, rois, 1.0, 7, 7, 2), sampled


def _ms_deform_attn() -> Case:
    """Against grid_sample, level by level, as Deformable DETR's own form."""
    sizes = torch.tensor([[32, 32], [16, 16]])
    value, place = torch.rand(2, 1280, 8, 16), torch.rand(2, 300, 8, 2, 4, 2)
    weight = torch.rand(2, 300, 8, 2, 4)

    def sampled() -> Any:
        made = []
        for level, begin in ((0, 0), (1, 1024)):
            high, wide = sizes[level].tolist()
            maps = value[:, begin : begin + high * wide].permute(0, 2, 3, 1).reshape(16, 16, high, wide)
            grid = (2 * place[:, :, :, level] - 1).transpose(1, 2).flatten(0, 1)
            made.append(functional.grid_sample(maps, grid, align_corners=False))
        shares = weight.transpose(1, 2).reshape(16, 1, 300, 8)
        return (torch.stack(made, -2).flatten(-2) * shares).sum(-1).reshape(2, 128, 300).transpose(1, 2)

    function = _module("ms_deform_attn").ms_deform_attn_forward
    return lambda: function(value, sizes, torch.tensor([0, 1024]), place, weight, 64), sampled


def _chamfer() -> Case:
    """Against cdist."""
    a, b = torch.rand(2, 3000, 3), torch.rand(2, 3000, 3)

    def apart() -> Any:
        distance = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        return distance.amin(2), distance.amin(1)

    function = _module("chamfer").forward_returned
    return lambda: tuple(function(a, b)[:2]), apart


def _mean_knn() -> Case:
    """Against cdist and topk."""
    points = torch.rand(4000, 3)

    def nearest() -> Any:
        distance = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        return distance.fill_diagonal_(float("inf")).topk(3, largest=False).values.mean(1)

    function = _module("mean_knn").mean_of_three
    return lambda: function(points), nearest


def _packed_points() -> Case:
    """Neighbours in two sets, against cdist and topk of each."""
    xyz, ends = torch.rand(6000, 3), torch.tensor([3000, 6000])
    function = _module("packed_points").knn_query

    def query() -> Any:
        idx, distance = torch.zeros(6000, 16, dtype=torch.int32), torch.zeros(6000, 16)
        function(6000, 16, xyz, xyz, ends, ends, idx, distance)
        return distance

    def nearest() -> Any:
        sets = xyz.reshape(2, 3000, 3)
        distance = torch.cdist(sets, sets, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        return distance.topk(16, largest=False).values.reshape(6000, 16)

    return query, nearest


def _structural_similarity() -> Case:
    """Against one convolution with the window in two dimensions."""
    one, two = torch.rand(1, 3, 200, 200), torch.rand(1, 3, 200, 200)
    ssim = _module("structural_similarity")
    line = torch.tensor(ssim._WINDOW)
    window = (line[:, None] * line).expand(3, 1, 11, 11)

    def smoothed(image: Any) -> Any:
        return functional.conv2d(image, window, padding=5, groups=3)

    def whole() -> Any:
        a, b = smoothed(one), smoothed(two)
        va, vb, ab = smoothed(one * one) - a * a, smoothed(two * two) - b * b, smoothed(one * two) - a * b
        return (2 * a * b + 1e-4) * (2 * ab + 9e-4) / ((a * a + b * b + 1e-4) * (va + vb + 9e-4))

    return lambda: ssim.fusedssim(1e-4, 9e-4, one, two, False)[0], whole


def _correlation_sampler() -> Case:
    """Against a shifted product for each displacement."""
    one, two = torch.rand(1, 32, 48, 64), torch.rand(1, 32, 48, 64)

    def shifted() -> Any:
        wide = functional.pad(two, (4, 4, 4, 4))
        rows = [torch.stack([(one * wide[:, :, i : i + 48, j : j + 64]).sum(1) for j in range(9)], 1) for i in range(9)]
        return torch.stack(rows, 1)

    function = _module("correlation_sampler").forward
    return lambda: function(one, two, 1, 1, 9, 9, 0, 0, 1, 1, 1, 1, 1, 1), shifted


def _bev_pool() -> Case:
    """Against index_add with the cells known."""
    cells = torch.randint(0, 128 * 128, (60000,)).sort().values
    features = torch.rand(60000, 32)
    starts = torch.cat([torch.zeros(1, dtype=torch.long), (cells[1:] != cells[:-1]).nonzero()[:, 0] + 1])
    lengths = torch.diff(starts, append=torch.tensor([60000]))
    geometry = torch.stack([cells // 128, cells % 128, cells * 0, cells * 0], 1).int()
    function = _module("bev_pool").bev_pool_forward
    return (
        lambda: function(features, geometry, lengths.int(), starts.int(), 1, 1, 128, 128),
        lambda: torch.zeros(128 * 128, 32).index_add(0, cells, features).reshape(1, 1, 128, 128, 32),
    )


def _voxels() -> Case:
    """The largest features by cell, against unique and scatter_reduce."""
    coors, feats = torch.randint(0, 20, (40000, 3)).int(), torch.rand(40000, 16)

    def unique() -> Any:
        cells, which = torch.unique(coors, dim=0, return_inverse=True)
        least = torch.full((len(cells), 16), float("-inf"))
        return least.scatter_reduce(0, which[:, None].expand(-1, 16), feats, "amax")

    function = _module("voxels").dynamic_point_to_voxel_forward
    return lambda: function(feats, coors, "max")[0], unique


def _raymarching() -> Case:
    """Compositing, against a product over a full table of samples."""
    rays, steps = 2000, 64
    sigmas, rgbs, deltas = torch.rand(rays * steps), torch.rand(rays * steps, 3), torch.rand(rays * steps, 2) * 0.1
    place = torch.arange(rays)
    which = torch.stack([place, place * steps, torch.full_like(place, steps)], 1).int()
    function = _module("raymarching").composite_rays_train_forward

    def composed() -> Any:
        weights, depth, image = torch.zeros(rays), torch.zeros(rays), torch.zeros(rays, 3)
        function(sigmas, rgbs, deltas, which, rays * steps, rays, 0.0, weights, depth, image)
        return image

    def table() -> Any:
        alpha = 1 - torch.exp(-(sigmas * deltas[:, 0]).reshape(rays, steps))
        left = torch.cat([torch.ones(rays, 1), (1 - alpha).cumprod(1)[:, :-1]], 1)
        return ((alpha * left)[..., None] * rgbs.reshape(rays, steps, 3)).sum(1)

    return composed, table


def _dcnv3() -> Case:
    """Against grid_sample, as InternImage's own form."""
    image, offset = torch.rand(1, 32, 32, 32), torch.rand(1, 32, 32, 4 * 18) * 2 - 1
    mask = torch.rand(1, 32, 32, 36)

    def sampled() -> Any:
        row = torch.arange(32)[:, None, None, None] - 1 + torch.arange(3).repeat(3)
        column = torch.arange(32)[:, None, None] - 1 + torch.arange(3).repeat_interleave(3)
        moved = offset.reshape(1, 32, 32, 4, 9, 2)
        x, y = column + moved[..., 0], row + moved[..., 1]
        grid = torch.stack([(x + 2) * 2 / 35 - 1, (y + 2) * 2 / 35 - 1], -1)[0].permute(2, 0, 1, 3, 4)
        maps = functional.pad(image[0].permute(2, 0, 1).reshape(4, 8, 32, 32), (2, 2, 2, 2))
        seen = functional.grid_sample(maps, grid.reshape(4, 1024, 9, 2), align_corners=True)
        made = (seen * mask.reshape(1024, 4, 9).permute(1, 0, 2)[:, None]).sum(-1)
        return made.reshape(32, 32, 32).permute(1, 2, 0)[None]

    function = _module("dcnv3").dcnv3_forward
    return lambda: function(image, offset, mask, 3, 3, 1, 1, 1, 1, 1, 1, 4, 8, 1.0, 1), sampled


CASES: dict[str, Callable[[], Case]] = {
    "deform_conv": _deform_conv,
    "detection": _detection,
    "ms_deform_attn": _ms_deform_attn,
    "chamfer": _chamfer,
    "mean_knn": _mean_knn,
    "packed_points": _packed_points,
    "structural_similarity": _structural_similarity,
    "correlation_sampler": _correlation_sampler,
    "bev_pool": _bev_pool,
    "voxels": _voxels,
    "raymarching": _raymarching,
    "dcnv3": _dcnv3,
    **replacement_cases.CASES,
}


def measure(family: str, side: int, threads: int) -> None:
    """Run one side, and print its time, its memory, and sums by which the sides are compared."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    run = CASES[family]()[side]
    before, best, made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, float("inf"), None
    for _ in range(2):
        start = time.process_time()
        made = run()
        best = min(best, time.process_time() - start)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    results = made if isinstance(made, tuple) else (made,)
    weights = [torch.linspace(-1, 1, one.numel(), dtype=torch.float64) for one in results]
    sums = [float((one.double().flatten() * weight).sum()) for one, weight in zip(results, weights, strict=True)]
    sizes = [float(one.double().abs().sum()) for one in results]
    print(json.dumps({"seconds": best, "bytes": grown, "sums": sums, "sizes": sizes}))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("families", nargs="*", help=f"of {', '.join(CASES)}; all if none is named")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--side", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side is not None:
        measure(given.families[0], given.side, given.threads)
        return
    print(f"{'family':24} {'time':>8} {'memory':>8}   replacement        plain form")
    for family in given.families or CASES:
        sides = []
        for side in (0, 1):
            command = [sys.executable, __file__, family, "--side", str(side), "--threads", str(given.threads)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
            sides.append(json.loads(answer.stdout))
        one, other = sides
        for a, b, size in zip(one["sums"], other["sums"], other["sizes"], strict=True):
            if abs(a - b) > 1e-4 * size:
                raise SystemExit(f"{family}: the sides differ: {a}, {b}")
        memory = one["bytes"] / max(other["bytes"], 2**20)
        figures = [f"{side['seconds'] * 1000:7.0f} ms {side['bytes'] / 2**20:5.0f} MiB" for side in sides]
        print(f"{family:24} {one['seconds'] / other['seconds']:8.2f} {memory:8.2f}   {'   '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
