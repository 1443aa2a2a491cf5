"""ngp_pl's kernels against one ray after the other, sample by sample, and against finite differences."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

np = pytest.importorskip("numpy")
F = np.float32

# --- marching, in the kernel's precision ---


def _code(x: int, y: int, z: int) -> int:
    return sum(((value >> bit) & 1) << (3 * bit + axis) for axis, value in enumerate((x, y, z)) for bit in range(10))


def _marched(
    o: Any, d: Any, bits: Any, levels: int, scale: float, widest: float, factor: float, size: int, most: int,
    t: Any, end: Any, limit: int,
) -> tuple[list[tuple[Any, ...]], Any]:  # fmt: skip
    """The points of one ray (place, step, time), and where it goes on."""
    o, d = [F(one) for one in o], [F(one) for one in d]
    root = F(1.73205080757)
    least, largest = F(root / F(most)), F(F(root * F(2) * F(widest)) / F(size))
    found: list[tuple[Any, ...]] = []
    goes_on = t
    while t < end and len(found) < limit:
        place = [F(o[axis] + F(t * d[axis])) for axis in range(3)]
        dt = max(least, min(largest, F(t * F(factor))))
        outer = math.frexp(float(max(abs(one) for one in place)))[1] + 1
        level = max(min(levels - 1, max(0, outer)), min(levels - 1, max(0, math.frexp(float(F(dt * F(size))))[1])))
        half = F(min(2.0 ** (level - 1), scale))
        cell = [
            int(max(F(0), min(F(size - 1), F(F(F(0.5) * F(F(one * F(F(1) / half)) + F(1))) * F(size)))))
            for one in place
        ]
        index = level * size**3 + _code(*cell)
        if bits[index // 8] >> (index % 8) & 1:
            found.append((*place, dt, t))
            t = goes_on = F(t + dt)
            continue
        leaves = []
        for axis in range(3):
            with np.errstate(divide="ignore", invalid="ignore"):
                middle = F(F(F(cell[axis]) + F(0.5)) + F(0.5) * np.copysign(F(1), d[axis]))
                edge = F(F(F(middle * F(F(1) / F(size))) * F(2)) - F(1))
                leaves.append(F(F(F(edge * half) - place[axis]) * F(F(1) / d[axis])))
        until = F(t + max(F(0), min(one for one in leaves if not np.isnan(one))))
        while True:
            t = F(t + max(least, min(largest, F(t * F(factor)))))
            if not t < until:
                break
    return found, goes_on


# The last but one has a least step above the largest, and the last so few samples that rays end by their number.
CASES = [
    (1, 0.5, 0.0, 8, 40),
    (3, 2.0, 1 / 64, 8, 64),
    (2, 1.0, 1 / 128, 16, 10),
    (1, 0.5, 0.0, 16, 150),
    (3, 4.0, 0.0, 8, 24),
]


@pytest.mark.parametrize(("levels", "scale", "factor", "size", "most"), CASES)
def test_marching(levels: int, scale: float, factor: float, size: int, most: int) -> None:
    march, rays = module("raymarching"), 24
    o = (numbers(rays, 3, seed=1) * 1.6 * scale).float()
    d = torch.nn.functional.normalize(numbers(rays, 3, seed=2).float() - o / scale, dim=-1)
    o[0], d[0] = torch.tensor([0.1 * scale, 0.0, -3 * scale]), torch.tensor([0.0, 0.0, 1.0])  # along an axis
    o[1], d[1] = torch.zeros(3), torch.tensor([0.6, 0.0, 0.8])  # out of the middle
    hits = torch.stack(
        [numbers(rays, seed=5, low=0.02, high=0.3), numbers(rays, seed=6, low=1, high=4 * scale + 1)], 1
    ).float()
    hits[1, 0] = 0.0
    hits[-3:] = -1.0  # nothing is hit
    grid, noise = numbers(levels * size**3, seed=3).float(), numbers(rays, seed=4, low=0).float()
    noise[1] = 0.0
    bits = torch.zeros(len(grid) // 8, dtype=torch.uint8)
    march.packbits_of_all(grid, 0.4, bits)
    assert [(int(bits[at // 8]) >> at % 8) & 1 for at in range(len(grid))] == (grid > 0.4).int().tolist()

    wanted = []
    for n in range(rays):
        t, root = F(hits[n, 0]), F(1.73205080757)
        step = max(F(root / F(most)), min(F(F(root * F(2) * F(scale)) / F(size)), F(t * F(factor))))
        start = F(t + F(step * F(noise[n]))) if t >= 0 else t
        wanted.append(
            _marched(o[n], d[n], bits.tolist(), levels, scale, scale, factor, size, most, start, F(hits[n, 1]), most)[0]
            if t >= 0
            else []
        )
    which, xyz, way, delta, ts, counter = march.raymarching_train(
        o, d, hits, bits, levels, scale, factor, noise, size, most
    )
    total = sum(map(len, wanted))
    assert counter.tolist() == [total, rays] and counter.dtype == torch.int32
    assert total > rays
    begin = 0
    for n, points in enumerate(wanted):
        assert which[n].tolist() == [n, begin, len(points)]
        end = begin + len(points)
        made = torch.cat([xyz[begin:end], delta[begin:end, None], ts[begin:end, None]], 1)
        assert torch.equal(made, torch.tensor([[float(v) for v in one] for one in points]).reshape(-1, 5))
        assert torch.equal(way[begin:end], d[n].expand(end - begin, 3))
        begin = end
    assert begin == total == len(xyz)

    alive, steps = torch.tensor([5, 0, 17, 9, 1]), 3
    given = hits.clone()
    xyz, way, delta, ts, number = march.raymarching_test(
        o, d, given, alive, bits, levels, scale, factor, size, most, steps
    )
    assert xyz.shape == (5, steps, 3) and delta.shape == (5, steps)
    untouched = [n for n in range(rays) if n not in alive.tolist()]
    assert torch.equal(given[untouched], hits[untouched])
    for k, n in enumerate(alive.tolist()):
        points, goes_on = _marched(
            o[n], d[n], bits.tolist(), levels, scale, levels, factor, size, most, F(hits[n, 0]), F(hits[n, 1]), steps
        )
        assert number[k] == len(points) and F(given[n, 0]) == goes_on and given[n, 1] == hits[n, 1]
        made = torch.cat([xyz[k], delta[k, :, None], ts[k, :, None]], 1)
        filled = [[float(v) for v in one] for one in points] + [[0.0] * 5] * (steps - len(points))
        assert torch.equal(made, torch.tensor(filled))
        assert torch.equal(way[k, : len(points)], d[n].expand(len(points), 3))


def test_codes() -> None:
    march = module("raymarching")
    places = torch.randint(0, 1024, (30, 3), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    codes = march.morton3d_returned(places)
    assert codes.tolist() == [_code(*one) for one in places.tolist()] and codes.dtype == torch.int32
    assert torch.equal(march.morton3d_invert_returned(codes), places)


# --- what rays meet ---


def _sorted_hits(found: list[list[tuple[float, float, int]]], most: int) -> tuple[Any, Any, Any]:
    counts, ends, which = [], [], []
    for one in found:
        kept = [(-1.0, -1.0, -1)] * (most - min(most, len(one))) + sorted(one[:most])
        counts.append(len(one))
        ends.append([[near, far] for near, far, _ in kept])
        which.append([index for _, _, index in kept])
    return torch.tensor(counts), torch.tensor(ends, dtype=torch.float64), torch.tensor(which)


@pytest.mark.parametrize("most", [2, 9])
def test_boxes(most: int) -> None:
    o = numbers(12, 3, seed=1) * 2
    d = numbers(12, 3, seed=2) * 0.7 - o / 2
    centers, sizes = numbers(9, 3, seed=3), numbers(9, 3, seed=4, low=0.2, high=0.7)
    o[0], d[0] = torch.tensor([0.0, 0.0, -4.0]), torch.tensor([0.0, 0.0, 1.0])
    centers[0], sizes[0] = (
        torch.tensor([0.3, 0.0, 0.0]),
        torch.tensor([0.3, 0.5, 0.5]),
    )  # in the plane of a side: passes by
    found = []
    for n in range(12):
        hits = []
        for v in range(9):
            low, high = -math.inf, math.inf
            for axis in range(3):
                sides = [centers[v, axis].item() + sign * sizes[v, axis].item() - o[n, axis].item() for sign in (-1, 1)]
                along = d[n, axis].item()
                if along == 0:
                    ends = (-math.inf, math.inf) if sides[0] < 0 < sides[1] else (math.inf, -math.inf)
                else:
                    ends = (min(one / along for one in sides), max(one / along for one in sides))
                low, high = max(low, ends[0]), min(high, ends[1])
            if low <= high and high > 0:
                hits.append((max(low, 0.0), high, v))
        found.append(hits)
    count, ends, which = module("ray_volumes").ray_aabb_intersect(o, d, centers, sizes, most)
    counts, wanted, indices = _sorted_hits(found, most)
    assert count.tolist() == counts.tolist() and which.tolist() == indices.tolist()
    assert max(counts.tolist()) > 2 and 0 in counts.tolist()
    close(ends, wanted)


def test_spheres() -> None:
    o = numbers(12, 3, seed=1) * 2
    d = numbers(12, 3, seed=2) * 0.7 - o / 2
    centers, radii = numbers(7, 3, seed=3), numbers(7, seed=4, low=0.2, high=0.9)
    found: list[list[tuple[float, float, int]]] = []
    for n in range(12):
        hits = []
        for v in range(7):
            a, b, c = (
                (d[n] @ d[n]).item(),
                2 * (d[n] @ (o[n] - centers[v])).item(),
                ((o[n] - centers[v]) @ (o[n] - centers[v])).item() - radii[v].item() ** 2,
            )
            roots = np.roots([a, b, c])
            if np.isreal(roots).all() and max(roots.real) > 0:
                hits.append((max(0.0, float(min(roots.real))), float(max(roots.real)), v))
        found.append(hits)
    count, ends, which = module("ray_volumes").ray_sphere_intersect(o, d, centers, radii, 7)
    counts, wanted, indices = _sorted_hits(found, 7)
    assert count.tolist() == counts.tolist() and which.tolist() == indices.tolist() and max(counts.tolist()) > 1
    close(ends, wanted)


# --- compositing ---

RAYS = torch.tensor([[1, 0, 4], [0, 4, 0], [3, 4, 1], [2, 5, 5]])
"""Which ray, where its samples begin, how many."""


def _composed(sigmas: Any, rgbs: Any, deltas: Any, ts: Any, threshold: float) -> Any:
    """Opacity, depth and colour of four rays, then the shares of the samples; how many samples leave enough."""
    out, shares, numbers_left = torch.zeros(4, 5).double(), torch.zeros(len(sigmas)).double(), [0] * 4
    for ray, begin, number in RAYS.tolist():
        left = 1.0
        for at in range(begin, begin + number):
            alpha = 1 - math.exp(-sigmas[at].item() * deltas[at].item())
            shares[at] = left * alpha
            out[ray, 0] += left * alpha
            out[ray, 1] += left * alpha * ts[at]
            out[ray, 2:] += left * alpha * rgbs[at]
            left *= 1 - alpha
            if left <= threshold:
                break
            numbers_left[ray] += 1
    return out, shares, numbers_left


def _samples() -> tuple[Any, ...]:
    return (
        numbers(11, seed=1, low=0.5, high=5),
        numbers(11, 3, seed=2, low=0),
        numbers(11, seed=3, low=0.1, high=0.6),
        torch.arange(11).double() / 4,
    )


@pytest.mark.parametrize("threshold", [0.0, 1e-4, 0.3])
def test_compositing(threshold: float) -> None:
    volumes, given = module("ray_volumes"), _samples()
    total, opacity, depth, rgb, ws = volumes.composite_train_fw(*given, RAYS, threshold)
    wanted, shares, left = _composed(*given, threshold)
    close(torch.cat([opacity[:, None], depth[:, None], rgb], 1), wanted)
    close(ws, shares)
    assert total.tolist() == left and total.dtype == torch.int64
    assert (threshold == 0.3) == (sum(left) < 9)

    of_rays, of_shares = numbers(4, 5, seed=5), numbers(11, seed=6)

    def whole(*tensors: Any) -> Any:
        made, parts, _ = _composed(*tensors, threshold)
        return (made * of_rays).sum() + (parts * of_shares).sum()

    of_sigmas, of_rgbs = volumes.composite_train_bw(
        of_rays[:, 0], of_rays[:, 1], of_rays[:, 2:], of_shares, *given[:2], ws, *given[2:], RAYS, opacity, depth, rgb,
        threshold,
    )  # fmt: skip
    one = torch.ones(()).double()
    close(of_rgbs, differences(whole, given, 1, one), 1e-6)
    close(of_sigmas, differences(whole, given, 0, one), 1e-6)


def test_compositing_in_parts() -> None:
    volumes = module("ray_volumes")
    sigmas, rgbs = numbers(5, 4, seed=1, low=0.5, high=5), numbers(5, 4, 3, seed=2, low=0)
    deltas, ts = numbers(5, 4, seed=3, low=0.1, high=0.6), numbers(5, 4, seed=4, low=0)
    alive, number = torch.tensor([6, 0, 3, 4, 2]), torch.tensor([4, 0, 2, 4, 1], dtype=torch.int32)
    opacity, depth, rgb = numbers(7, seed=5, low=0, high=0.8), numbers(7, seed=6), numbers(7, 3, seed=7)
    state = [opacity.clone(), depth.clone(), rgb.clone()]
    ends = []
    for n, ray in enumerate(alive.tolist()):
        left, is_alive = 1 - opacity[ray].item(), number[n] > 0
        for at in range(int(number[n])):
            alpha = 1 - math.exp(-(sigmas[n, at] * deltas[n, at]).item())
            state[0][ray] += alpha * left
            state[1][ray] += alpha * left * ts[n, at]
            state[2][ray] += alpha * left * rgbs[n, at]
            left *= 1 - alpha
            if left <= 0.1:
                is_alive = False
                break
        ends.append(ray if is_alive else -1)
    volumes.composite_test_fw(sigmas, rgbs, deltas, ts, torch.zeros(7, 2), alive, 0.1, number, opacity, depth, rgb)
    assert alive.tolist() == ends and ends.count(-1) not in (0, 1, 5)
    for made, wanted in zip((opacity, depth, rgb), state, strict=True):
        close(made, wanted)


def test_distortion() -> None:
    volumes = module("ray_volumes")
    ws, (_, _, deltas, ts) = numbers(11, seed=8, low=0, high=0.4), _samples()

    def apart(shares: Any) -> Any:
        found = torch.zeros(4).double()
        for ray, begin, number in RAYS.tolist():
            places = range(begin, begin + number)
            found[ray] = sum((shares[i] * shares[j] * (ts[i] - ts[j]).abs() for i in places for j in places), 0.0)
            found[ray] += sum((shares[i] ** 2 * deltas[i] / 3 for i in places), 0.0)
        return found

    loss, sums, moments = volumes.distortion_loss_fw(ws, deltas, ts, RAYS)
    close(loss, apart(ws))
    close(sums[4:10], torch.cat([ws[4:5], ws[5:10].cumsum(0)]))
    close(moments[:4], (ws * ts)[:4].cumsum(0))
    assert sums[10] == 0
    grad = numbers(4, seed=9)
    made = volumes.distortion_loss_bw(grad, sums, moments, ws, deltas, ts, RAYS)
    close(made, differences(apart, [ws], 0, grad), 1e-6)
