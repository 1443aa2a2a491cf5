"""Points on rays and their shares against loops over rays and points."""

from __future__ import annotations

import math
from typing import Any

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _rays() -> tuple[Any, Any, Any, Any]:
    origins, directions = numbers(6, 3, low=-2, high=2), numbers(6, 3, seed=1, low=-1, high=1)
    directions[0, 1] = 0
    return origins, directions, torch.tensor([-1.0, -0.8, -1.2]).double(), torch.tensor([0.9, 1.0, 1.1]).double()


def _range(origin: list[float], direction: list[float], low: list[float], high: list[float]) -> tuple[float, float]:
    enters, leaves = -math.inf, math.inf
    for axis in range(3):
        ends = [(end - origin[axis]) / (direction[axis] or 1e-6) for end in (low[axis], high[axis])]
        enters, leaves = max(enters, min(ends)), min(leaves, max(ends))
    return max(min(enters, 4.0), 0.2), max(min(leaves, 4.0), 0.2)


def test_points_at_equal_distances() -> None:
    rays, (origins, directions, low, high) = module("voxel_rays"), _rays()
    points, outside, ray, step, number, t_min, t_max = rays.sample_pts_on_rays(
        origins, directions, low, high, 0.2, 4.0, 0.3
    )
    at = 0
    for index, (origin, direction) in enumerate(zip(origins.tolist(), directions.tolist(), strict=True)):
        enters, leaves = _range(origin, direction, low.tolist(), high.tolist())
        assert abs(t_min[index].item() - enters) < 1e-9 and abs(t_max[index].item() - leaves) < 1e-9
        length = math.sqrt(sum(value**2 for value in direction))
        assert number[index].item() == max(math.ceil((leaves - enters) * length / 0.3), 1)
        for turn in range(int(number[index])):
            assert (ray[at].item(), step[at].item()) == (index, turn)
            wanted = [o + d * enters + d / length * 0.3 * turn for o, d in zip(origin, direction, strict=True)]
            close(points[at], torch.tensor(wanted).double(), 1e-6)
            inside = all(b <= v <= e for b, v, e in zip(low.tolist(), wanted, high.tolist(), strict=True))
            assert outside[at].item() == (not inside)
            at += 1
    assert at == len(points)
    none = rays.sample_pts_on_rays(origins[:0], directions[:0], low, high, 0.2, 4.0, 0.3)
    assert [len(each) for each in none] == [0] * 7


def test_points_of_a_fixed_number() -> None:
    rays, (origins, directions, low, high) = module("voxel_rays"), _rays()
    points, outside = rays.sample_ndc_pts_on_rays(origins, directions, low, high, 5)
    close(points[2, 3], origins[2] + directions[2] * 0.75)
    assert outside.shape == (6, 5)
    far = numbers(6, seed=3, low=1, high=2)
    behind = rays.sample_bg_pts_on_rays(origins, directions, far, 0.4, 4)
    for index in range(6):
        for turn in range(4):
            point = origins[index] + directions[index] * (far[index] - 1 + 1 / (1 - turn / 4))
            ratio = point.norm() / point.abs().max()
            share = ratio**2 / point.norm() ** 2 * 0.6 + ratio / point.norm() * 0.4
            close(behind[index, turn], point * share)


def test_cells_are_the_nearest_and_halves_go_away_from_zero() -> None:
    rays, world = module("voxel_rays"), numbers(3, 4, 5) > 0
    world[1, 2, 3] = world[2, 2, 3] = world[0, 0, 0] = True
    world[2, 3, 3] = False
    xyz = torch.tensor(
        [[1.0, 2, 3], [1.5, 1.5, 2.5], [1.5, 2.5, 2.5], [-0.4, 0, 0], [-0.5, 0, 0], [2.5, 0, 0]]
    ).double()
    scale, shift = torch.full((3,), 2.0).double(), torch.full((3,), -1.0).double()
    assert rays.maskcache_lookup(world, (xyz + 1) / 2, scale, shift).tolist() == [True, True, False, True, False, False]


def test_opacity() -> None:
    rays, density, grad = module("voxel_rays"), numbers(9, low=-4, high=4), numbers(9, seed=1)
    for interval in (0.5, numbers(9, seed=2, low=0.1, high=2)):
        exp, alpha = rays.raw2alpha(density, -1.0, interval)
        close(alpha, 1 - (-interval * torch.nn.functional.softplus(density - 1)).exp())

        def opacity(values: Any, interval: Any = interval) -> Any:
            return rays.raw2alpha(values, -1.0, interval)[1]

        close(rays.raw2alpha_backward(exp, grad, interval), differences(opacity, [density], 0, grad), 1e-6)
    full = torch.tensor([1000.0])
    exp, alpha = rays.raw2alpha(full, 0.0, 0.5)
    assert alpha.item() == 1 and rays.raw2alpha_backward(exp, torch.ones(1), 0.5).item() == 0


def _shares(alpha: Any, ray_id: Any, rays: int) -> Any:
    weight, last = torch.zeros_like(alpha), alpha.new_ones(rays)
    for index in range(len(alpha)):
        left = last[ray_id[index]].clone()
        if left >= 1e-3:
            weight[index], last[ray_id[index]] = left * alpha[index], left * (1 - alpha[index])
    return torch.cat([weight, last])


def test_shares() -> None:
    rays = module("voxel_rays")
    ray_id = torch.tensor([0, 0, 0, 2, 2, 2, 2, 3, 5, 5])  # rays 1, 4 and 6 have no points
    alpha = numbers(10, low=0.1, high=0.8)
    alpha[4] = 0.9995  # nothing behind it counts
    weight, left, last, start, end = rays.alpha2weight(alpha, ray_id, 7)
    close(torch.cat([weight, last]), _shares(alpha, ray_id, 7))
    assert (end - start).tolist() == [3, 0, 2, 1, 0, 2, 0] and start.tolist() == [0, 0, 3, 7, 0, 8, 0]
    assert left[[0, 3, 5, 6, 7, 8]].tolist() == [1] * 6
    grad = numbers(17, seed=4)
    made = rays.alpha2weight_backward(alpha, weight, left, last, start, end, 7, grad[:10], grad[10:])
    close(made, differences(lambda values: _shares(values, ray_id, 7), [alpha], 0, grad), 1e-5)
    empty = rays.alpha2weight(alpha[:0], ray_id[:0], 2)
    assert empty[2].tolist() == [1, 1]
    assert len(rays.alpha2weight_backward(alpha[:0], *empty, 2, alpha[:0], empty[2])) == 0


def test_total_variation_is_added_to_the_gradient() -> None:
    rays, grid, start = module("voxel_rays"), numbers(1, 2, 2, 3, 4, low=-1, high=1), numbers(1, 2, 2, 3, 4, seed=1)
    start[0, 0, 1, 1] = 0

    def variation(values: Any) -> Any:
        total = torch.zeros(1).double()
        for axis, weight in ((2, 0.3), (3, 0.2), (4, 0.3)):  # along the first axis the kernel has the last weight
            total += (
                weight
                / 6
                * torch.nn.functional.smooth_l1_loss(values.diff(dim=axis), values.diff(dim=axis) * 0, reduction="sum")
            )
        return total

    added = differences(variation, [grid], 0, torch.ones(1).double())
    for dense in (True, False):
        grad = start.clone()
        rays.total_variation_add_grad(grid, grad, 0.7, 0.2, 0.3, dense)
        close(grad - start, added if dense else torch.where(start != 0, added, torch.zeros_like(added)), 1e-6)
