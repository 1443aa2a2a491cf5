"""Ray marching and compositing against one ray after the other, step by step, in the kernel's precision."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

np = pytest.importorskip("numpy")
F = np.float32


def _code(x: int, y: int, z: int) -> int:
    return sum(((value >> bit) & 1) << (3 * bit + axis) for axis, value in enumerate((x, y, z)) for bit in range(10))


def _clamp(x: Any, low: Any, high: Any) -> Any:
    return min(F(high), max(F(low), F(x)))


def _level(x: Any, levels: int) -> int:
    return int(min(levels - 1, max(0, math.frexp(float(x))[1])))


def _marched(
    o: Any, d: Any, bits: Any, bound: float, gamma: float, most: int, levels: int, size: int, start: Any, far: Any, noise: Any,
    limit: int,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """The points of one ray: place, step, and the way since the point before."""
    o, d = [F(one) for one in o], [F(one) for one in d]
    least, widest = F(2 * F(1.7320508075688772)) / F(most), F(2 * F(1.7320508075688772) * 2 ** (levels - 1)) / F(size)
    t = F(F(start) + _clamp(F(start) * F(gamma), least, widest) * F(noise))
    last, found = t, []
    while t < far and len(found) < limit:
        place = [_clamp(F(o[axis] + F(t * d[axis])), -bound, bound) for axis in range(3)]
        dt = _clamp(F(t * F(gamma)), least, widest)
        level = max(_level(max(abs(one) for one in place), levels), _level(dt * size * 0.5, levels))
        half = F(min(2.0**level, bound))
        cell = [int(_clamp(0.5 * float(F(one * F(1 / half)) + F(1)) * size, 0, size - 1)) for one in place]
        index = level * size**3 + _code(*cell)
        if bits[index // 8] >> (index % 8) & 1:
            t = F(t + dt)
            found.append((*place, dt, F(t - last)))
            last = t
            continue
        leaves = []
        for axis in range(3):
            with np.errstate(divide="ignore", invalid="ignore"):
                edge = F(
                    F(F(F(cell[axis]) + F(0.5) + F(0.5) * np.copysign(F(1), d[axis])) * F(F(1) / F(size))) * F(2)
                ) - F(1)
                leaves.append(F(F(edge * half) - place[axis]) * F(F(1) / d[axis]))
        until = F(t + max(F(0), min(one for one in leaves if not np.isnan(one))))
        while True:
            t = F(t + _clamp(F(t * F(gamma)), least, widest))
            if not t < until:
                break
    return found


CASES = [(1, 1.0, 0.0, 8, 40), (1, 1.0, 0.0, 16, 150), (3, 4.0, 1 / 64, 8, 64), (2, 2.0, 1 / 128, 16, 90)]


def _scene(levels: int, bound: float, size: int) -> tuple[Any, ...]:
    rays = 24
    o = (numbers(rays, 3, seed=1) * 2 * bound).float()
    d = torch.nn.functional.normalize(numbers(rays, 3, seed=2).float() - o / bound, dim=-1)
    o[:2], d[:2] = torch.tensor([0.1, 0.0, -3 * bound]), torch.tensor([0.0, 0.0, 1.0])  # along an axis
    o[-3:, 1], d[-3:] = 3 * bound, torch.tensor([0.8, 0.0, 0.6])  # past the box
    grid = numbers(levels * size**3, seed=3).float()
    return o, d, grid, numbers(rays, seed=4, low=0).float()


def _prepared(levels: int, bound: float, size: int) -> tuple[Any, ...]:
    march = module("raymarching")
    o, d, grid, noise = _scene(levels, bound, size)
    bits = torch.zeros(len(grid) // 8, dtype=torch.uint8)
    march.packbits(grid, len(bits), 0.6, bits)
    for byte in range(0, len(bits), 7):
        assert bits[byte] == sum(2**bit for bit in range(8) if grid[byte * 8 + bit] > 0.6)
    near, far = torch.zeros(len(o)), torch.zeros(len(o))
    march.near_far_from_aabb(o, d, torch.tensor([-bound] * 3 + [bound] * 3), len(o), 0.05, near, far)
    return march, o, d, bits, noise, near, far


def test_entry_and_exit() -> None:
    _, o, d, _, _, near, far = _prepared(1, 1.0, 8)
    hits = 0
    for n in range(len(o)):
        ends = []
        for axis in range(3):
            if d[n, axis] == 0:
                ends.append([-math.inf, math.inf] if abs(o[n, axis]) < 1 else [math.inf, -math.inf])
            else:
                ends.append(sorted(((side - o[n, axis]) / d[n, axis]).item() for side in (-1.0, 1.0)))
        begin, end = max(one for one, _ in ends), min(one for _, one in ends)
        if begin <= end:
            hits += 1
            assert near[n].item() == pytest.approx(max(begin, 0.05), rel=1e-4)
            assert far[n].item() == pytest.approx(end, rel=1e-4)
        else:
            assert near[n] == far[n] == torch.finfo(torch.float32).max
    assert 4 < hits < len(o)


@pytest.mark.parametrize(("levels", "bound", "gamma", "size", "most"), CASES)
def test_marching(levels: int, bound: float, gamma: float, size: int, most: int) -> None:
    march, o, d, bits, noise, near, far = _prepared(levels, bound, size)
    rays = len(o)
    wanted = [
        _marched(o[n], d[n], bits.tolist(), bound, gamma, most, levels, size, near[n], far[n], noise[n], most)
        for n in range(rays)
    ]
    total = sum(map(len, wanted))
    for room in (rays * most, total // 2):
        xyz, way, delta = torch.zeros(room, 3), torch.zeros(room, 3), torch.zeros(room, 2)
        which, counter = torch.zeros(rays, 3, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
        march.march_rays_train(
            o, d, bits, bound, gamma, most, rays, levels, size, room, near, far, xyz, way, delta, which, counter, noise
        )
        assert counter.tolist() == [total, rays]
        begin = 0
        for n, points in enumerate(wanted):
            assert which[n].tolist() == [n, begin, len(points)]
            end = begin + len(points)
            if points and end <= room:
                assert torch.equal(xyz[begin:end], torch.tensor([[float(v) for v in one[:3]] for one in points]))
                assert torch.equal(delta[begin:end], torch.tensor([[float(v) for v in one[3:]] for one in points]))
                assert torch.equal(way[begin:end], d[n].expand(end - begin, 3))
            elif begin < room:
                assert (delta[begin:end] == 0).all()  # a ray that does not fit writes nothing
            begin = end
    alive, steps = torch.tensor([5, 0, 17, 9], dtype=torch.int32), 3
    xyz, way, delta = torch.zeros(12, 3), torch.zeros(12, 3), torch.zeros(12, 2)
    march.march_rays(
        4,
        steps,
        alive,
        near,
        o,
        d,
        bound,
        gamma,
        most,
        levels,
        size,
        bits,
        near,
        far,
        xyz,
        way,
        delta,
        noise[:4].clone(),
    )
    for k, n in enumerate(alive.tolist()):
        points = _marched(o[n], d[n], bits.tolist(), bound, gamma, most, levels, size, near[n], far[n], noise[k], steps)
        made = torch.cat([xyz, delta], 1)[k * steps : (k + 1) * steps]
        filled = [[float(v) for v in one] for one in points] + [[0.0] * 5] * (steps - len(points))
        assert torch.equal(made, torch.tensor(filled))


def test_codes() -> None:
    march = module("raymarching")
    places = torch.randint(0, 1024, (30, 3), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    codes, back = torch.zeros(30, dtype=torch.int32), torch.zeros(30, 3, dtype=torch.int32)
    march.morton3d(places, 30, codes)
    assert codes.tolist() == [_code(*one) for one in places.tolist()]
    march.morton3d_invert(codes, 30, back)
    assert torch.equal(back, places)


def test_angles_on_a_sphere() -> None:
    march = module("raymarching")
    o, d, coords = (
        numbers(20, 3),
        torch.nn.functional.normalize(numbers(20, 3, seed=1), dim=-1),
        torch.zeros(20, 2).double(),
    )
    march.sph_from_ray(o, d, 3.0, 20, coords)
    theta, phi = (coords[:, 0] + 1) / 2 * math.pi, coords[:, 1] * math.pi
    on_sphere = 3 * torch.stack([theta.sin() * phi.cos(), theta.cos(), theta.sin() * phi.sin()], -1)
    along = on_sphere - o
    close(torch.nn.functional.normalize(along, dim=-1), d, 1e-8)


# --- compositing ---

RAYS = torch.tensor([[1, 0, 4], [0, 4, 0], [3, 4, 1], [2, 5, 5], [4, 10, 9]], dtype=torch.int32)
"""Which ray, where its samples begin, how many: the last has more than there is room for."""


def _composed(sigmas: Any, rgbs: Any, deltas: Any, threshold: float) -> Any:
    out = torch.zeros(5, 5, dtype=torch.float64)  # the sum of weights, the depth, three colours
    for ray, begin, number in RAYS.tolist():
        left, t = 1.0, 0.0
        for at in range(begin, begin + number if begin + number <= len(sigmas) else begin):
            alpha = 1 - math.exp(-sigmas[at].item() * deltas[at, 0].item())
            t += deltas[at, 1].item()
            values = torch.tensor([1, t, *rgbs[at].tolist()], dtype=torch.float64)
            out[ray] += alpha * left * values
            left *= 1 - alpha
            if left < threshold:
                break
    return out


@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_compositing_for_training(threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    march = module("raymarching")
    monkeypatch.setattr(march, "_AT_ONCE", 10)  # several slices
    sigmas, rgbs, deltas = numbers(12, low=0.2), numbers(12, 3, seed=1, low=0), numbers(12, 2, seed=2, low=0.1)
    weights, depth, image = (torch.ones(5, *size).double() for size in ((), (), (3,)))
    march.composite_rays_train_forward(sigmas, rgbs, deltas, RAYS, 12, 5, threshold, weights, depth, image)
    close(torch.cat([weights[:, None], depth[:, None], image], 1), _composed(sigmas, rgbs, deltas, threshold))
    of_sum, of_image = numbers(5, seed=3), numbers(5, 3, seed=4)
    grad = torch.cat([of_sum[:, None], torch.zeros(5, 1).double(), of_image], 1)
    of_sigmas, of_rgbs = torch.zeros(12).double(), torch.zeros(12, 3).double()
    march.composite_rays_train_backward(
        of_sum, of_image, sigmas, rgbs, deltas, RAYS, weights, image, 12, 5, threshold, of_sigmas, of_rgbs
    )

    def again(sigmas: Any, rgbs: Any) -> Any:
        return _composed(sigmas, rgbs, deltas, threshold)

    close(of_rgbs, differences(again, [sigmas, rgbs], 1, grad), 1e-6)
    if not threshold:
        close(of_sigmas, differences(again, [sigmas, rgbs], 0, grad), 1e-6)


def test_compositing_step_by_step() -> None:
    march = module("raymarching")
    alive, steps = torch.tensor([3, 0, 2], dtype=torch.int32), 4
    sigmas, rgbs, deltas = numbers(12, low=0.2), numbers(12, 3, seed=1), numbers(12, 2, seed=2, low=0.1)
    sigmas[:4] *= 9  # the first ray meets something dense
    deltas[6:8] = 0  # the second ray ends after two samples
    state = [numbers(4, seed=3, low=0), numbers(4, seed=4, low=0) * 0.3, numbers(4, seed=5), numbers(4, 3, seed=6)]
    wanted, ends = [one.clone() for one in state], alive.clone()
    for k, ray in enumerate(alive.tolist()):
        t, done = wanted[0][ray].item(), 0
        for at in range(k * steps, (k + 1) * steps):
            if deltas[at, 0] == 0:
                break
            left = 1 - wanted[1][ray].item()
            weight = (1 - math.exp(-(sigmas[at] * deltas[at, 0]).item())) * left
            t += deltas[at, 1].item()
            wanted[1][ray] += weight
            wanted[2][ray] += weight * t
            wanted[3][ray] += weight * rgbs[at]
            if left < 0.35:
                break
            done += 1
        if done < steps:
            ends[k] = -1
        else:
            wanted[0][ray] = t
    march.composite_rays(3, steps, 0.35, alive, state[0], sigmas, rgbs, deltas, *state[1:])
    assert alive.tolist() == ends.tolist()
    assert -1 in ends.tolist()
    assert any(one >= 0 for one in ends.tolist())
    for one, other in zip(state, wanted, strict=True):
        close(one, other)
