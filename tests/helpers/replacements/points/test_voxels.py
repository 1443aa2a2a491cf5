"""Points by cell against a loop over points."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

SIZE, RANGE = [0.5, 0.4, 1.0], [-1.0, -0.8, -1.0, 1.0, 0.8, 1.0]
GRID = (4, 4, 2)


def _cell(point: Any) -> tuple[int, ...]:
    return tuple(math.floor((point[axis].item() - RANGE[axis]) / SIZE[axis]) for axis in range(3))


def _points() -> Any:
    return numbers(60, 4, seed=1, low=-1.3, high=1.3).float()


@pytest.mark.parametrize("first", ["z", "x"])
def test_cells_of_points(first: str) -> None:
    voxels, points = module("voxels"), _points()
    made = torch.full((60, 3), 9, dtype=torch.int32)
    (voxels.dynamic_voxelize if first == "z" else voxels.dynamic_voxelize_xyz)(points, made, SIZE, RANGE, 3)
    seen = set()
    for n in range(60):
        cell, row = _cell(points[n]), [9, 9, 9]
        outside = next((axis for axis in range(3) if not 0 <= cell[axis] < GRID[axis]), None)
        if outside is None:
            row = list(cell if first == "x" else cell[::-1])
        else:
            row[: outside + 1] = [-1] * (outside + 1)
        seen.add(outside)
        assert made[n].tolist() == row
    assert seen == {None, 0, 1, 2}


@pytest.mark.parametrize("first", ["z", "x"])
@pytest.mark.parametrize(("most", "cells"), [(2, 100), (10, 5), (1, 3), (3, 1000)])
def test_points_by_cell(most: int, cells: int, first: str) -> None:
    made, points = module("voxels"), _points()
    held: dict[tuple[int, ...], list[int]] = {}
    for n in range(60):
        cell = _cell(points[n])
        if all(0 <= cell[axis] < GRID[axis] for axis in range(3)):
            if cell not in held and len(held) == cells:
                continue
            if len(held.setdefault(cell, [])) < most:
                held[cell].append(n)
    voxels, coors = torch.zeros(cells, most, 4), torch.zeros(cells, 3, dtype=torch.int32)
    counts = torch.zeros(cells, dtype=torch.int32)
    function = made.hard_voxelize if first == "z" else made.hard_voxelize_xyz
    number = function(points, voxels, coors, counts, SIZE, RANGE, most, cells, 3, True)
    assert number == len(held)
    assert counts[:number].tolist() == [len(one) for one in held.values()]
    assert counts[number:].sum() == 0
    for at, (cell, which) in enumerate(held.items()):
        assert coors[at].tolist() == list(cell if first == "x" else cell[::-1])
        assert torch.equal(voxels[at, : len(which)], points[which])
        assert voxels[at, len(which) :].abs().sum() == 0
    assert made.hard_voxelize(points[:0], voxels, coors, counts, SIZE, RANGE, most, cells) == 0


@pytest.mark.parametrize("kind", ["max", "sum", "mean"])
@pytest.mark.parametrize("some_outside", [True, False])
def test_features_by_cell(kind: str, some_outside: bool) -> None:
    voxels, feats = module("voxels"), numbers(12, 3)
    coors = torch.tensor([[at % 2, at % 3, 1] for at in range(12)], dtype=torch.int32)
    if some_outside:
        coors[4, 1], coors[9] = -1, -1
    cells = sorted({tuple(one) for one in coors.tolist() if min(one) >= 0})
    members = {cell: [n for n in range(12) if tuple(coors[n].tolist()) == cell] for cell in cells}

    def written_out(feats: Any) -> Any:
        rows = []
        for cell in cells:
            own = [[feats[n, c].item() for n in members[cell]] for c in range(3)]
            rows.append([max(one) if kind == "max" else sum(one) / (len(one) if kind == "mean" else 1) for one in own])
        return torch.tensor(rows, dtype=torch.float64)

    reduced, out, which, counts = voxels.dynamic_point_to_voxel_forward(feats, coors, kind)
    close(reduced, written_out(feats))
    assert [tuple(one) for one in out.tolist()] == cells
    assert counts.tolist() == [len(members[cell]) for cell in cells]
    for n, cell in itertools.product(range(12), cells):
        assert (which[n] == cells.index(cell)) == (n in members[cell])
    grad, made = numbers(*reduced.shape, seed=3), torch.ones_like(feats)
    voxels.dynamic_point_to_voxel_backward(made, grad, feats, reduced, which, counts, kind)
    close(made, differences(written_out, [feats], 0, grad), 1e-6)


def test_of_equal_features_the_first_has_the_gradient() -> None:
    voxels, coors = module("voxels"), torch.zeros(3, 3, dtype=torch.int32)
    feats = torch.tensor([[1.0], [2.0], [2.0]])
    reduced, _, which, counts = voxels.dynamic_point_to_voxel_forward(feats, coors, "max")
    grad = torch.ones(3, 1)
    voxels.dynamic_point_to_voxel_backward(grad, torch.ones(1, 1), feats, reduced, which, counts, "max")
    assert grad[:, 0].tolist() == [0, 1, 0]
    none = voxels.dynamic_point_to_voxel_forward(feats[:0], coors[:0], "max")
    assert [len(one) for one in none] == [0, 0, 0, 0]
