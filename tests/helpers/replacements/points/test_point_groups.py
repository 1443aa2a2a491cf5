"""Operators of PointGroup against loops over points and dictionaries, and gradients by differences."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _coords() -> Any:
    made = (numbers(40, 4, seed=1, low=0, high=2.999)).long()
    made[:, 0] %= 2
    return made


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_voxels(mode: int) -> None:
    groups, coords = module("point_groups"), _coords()
    cells: dict[tuple[int, ...], list[int]] = {}
    for place, one in enumerate(coords.tolist()):
        cells.setdefault(tuple(one), []).append(place)
    found, of, table = torch.empty(0, dtype=torch.long), torch.zeros(40, dtype=torch.int32), torch.empty(0).int()
    groups.voxelize_idx(coords, found, of, table, 2, mode)
    kept = [points if mode in (3, 4) else [points[0 if mode == 1 else -1]] for points in cells.values()]
    most = max(len(points) for points in kept)
    assert table.tolist() == [[len(points), *points, *[0] * (most - len(points))] for points in kept]
    assert of.tolist() == [list(cells).index(tuple(one)) for one in coords.tolist()]
    assert found.tolist() == [list(one) for one in cells]
    feats, out = numbers(40, 3), torch.zeros(len(kept), 3, dtype=torch.float64)

    def voxels(feats: Any) -> Any:
        rows = [sum(feats[point] for point in points) for points in kept]
        return torch.stack([row / (len(points) if mode == 4 else 1) for row, points in zip(rows, kept, strict=True)])

    groups.voxelize_fp(feats, out, table, mode, len(kept), most, 3)
    close(out, voxels(feats), 1e-6)
    grad, made = numbers(len(kept), 3, seed=2), torch.zeros_like(feats)
    groups.voxelize_bp(grad, made, table, mode, len(kept), most, 3)
    close(made, differences(voxels, [feats], 0, grad), 1e-6)


def test_points_recovered(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = module("point_groups")
    monkeypatch.setattr(groups, "_AT_ONCE", 9)  # several slices
    table, feats = torch.tensor([[2, 0, 3], [1, 1, 0], [2, 2, 4]], dtype=torch.int32), numbers(3, 2)
    out = torch.zeros(5, 2, dtype=torch.float64)
    groups.point_recover_fp(feats, out, table, 3, 2, 2)
    close(out, feats[[0, 1, 2, 0, 2]])
    made, grad = torch.zeros_like(feats), numbers(5, 2, seed=1)
    groups.point_recover_bp(grad, made, table, 3, 2, 2)
    close(made, torch.stack([grad[0] + grad[3], grad[1], grad[2] + grad[4]]))


def test_voxels_that_are_not_replaced() -> None:
    with pytest.raises(NotImplementedError):
        module("point_groups").voxelize_idx(_coords()[:, 1:], None, None, None, 1, 4)


@pytest.mark.parametrize("room", [3, 50])
def test_balls_and_clusters(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = module("point_groups")
    monkeypatch.setattr(groups, "_AT_ONCE", 200)  # several slices
    monkeypatch.setattr(groups, "_MOST_NEAR", 6)
    points, batch = numbers(30, 3).float(), torch.tensor([0] * 12 + [1] * 18, dtype=torch.int32)
    offsets = torch.tensor([0, 12, 30], dtype=torch.int32)
    near = [
        [k for k in range(30) if batch[k] == batch[i] and float(((points[i] - points[k]) ** 2).sum()) < 0.36][:6]
        for i in range(30)
    ]
    idx, start_len = torch.full((30 * room,), -7, dtype=torch.int32), torch.zeros(30, 2, dtype=torch.int32)
    total = groups.ballquery_batch_p(points, batch, offsets, idx, start_len, 30, room, 0.6)
    flat = [one for row in near for one in row]
    assert total == len(flat)
    assert idx.tolist() == (flat + [-7] * (30 * room))[: 30 * room]
    assert start_len[:, 1].tolist() == [len(row) for row in near]
    if len(flat) > 30 * room:
        return
    labels = torch.arange(30, dtype=torch.int32) % 2
    for form in ("labels", "class"):
        visited, wanted = set(), []
        for first in range(30):
            if first in visited:
                continue
            queue, found = deque([first]), [first]
            visited.add(first)
            while queue:
                for other in near[queue.popleft()]:
                    if other not in visited and (form == "class" or labels[other] == labels[first]):
                        visited.add(other)
                        found.append(other)
                        queue.append(other)
            if len(found) >= 3:
                wanted.append(found)
        clusters, ends = torch.empty(0, dtype=torch.int32), torch.empty(0, dtype=torch.int32)
        if form == "labels":
            groups.bfs_cluster(labels, idx, start_len, clusters, ends, 30, 3)
        else:
            usual = torch.tensor([-1.0, 6.0])
            groups.bfs_cluster_of_class(usual, idx, start_len, clusters, ends, 30, 0.5, 1)
        assert clusters.tolist() == [[number, one] for number, found in enumerate(wanted) for one in found]
        assert ends.tolist() == [sum(len(one) for one in wanted[:number]) for number in range(len(wanted) + 1)]
    none, ends = torch.empty(0, dtype=torch.int32), torch.empty(0, dtype=torch.int32)
    groups.bfs_cluster(labels, idx, start_len, none, ends, 30, 99)
    assert none.shape == (0, 2)
    assert ends.tolist() == [0]


OFFSETS = torch.tensor([0, 3, 3, 8, 10], dtype=torch.int32)


def test_segments() -> None:
    groups, values = module("point_groups"), numbers(10, 2)
    values[4] = values[5]
    parts = [values[a:b] for a, b in zip(OFFSETS[:-1], OFFSETS[1:], strict=True)]
    out, at = torch.zeros(4, 2, dtype=torch.float64), torch.zeros(4, 2, dtype=torch.int32)
    infinite = torch.full((2,), float("inf"), dtype=torch.float64)
    groups.sec_mean(values, OFFSETS, out, 4, 2)
    close(out, torch.stack([part.mean(0) if len(part) else part.new_zeros(2) for part in parts]), 1e-6)
    groups.sec_min(values, OFFSETS, out, 4, 2)
    close(out, torch.stack([part.amin(0) if len(part) else infinite for part in parts]))
    groups.sec_max(values, OFFSETS, out, 4, 2)
    close(out, torch.stack([part.amax(0) if len(part) else -infinite for part in parts]))
    groups.roipool_fp(values, OFFSETS, out, at, 4, 2)
    close(out, torch.stack([part.amax(0) if len(part) else -infinite for part in parts]))
    for segment, part in enumerate(parts):
        for channel in range(2):
            column = part[:, channel].tolist()
            first = column.index(max(column)) + int(OFFSETS[segment]) if column else -1
            assert at[segment, channel] == first
    grad, made = numbers(4, 2, seed=3), torch.zeros_like(values)
    groups.roipool_bp(made, OFFSETS, at, grad, 4, 2)
    wanted = torch.zeros_like(values)
    for segment in (0, 2, 3):
        for channel in range(2):
            wanted[at[segment, channel], channel] += grad[segment, channel]
    close(made, wanted)
    groups.global_avg_pool_fp(values, OFFSETS, out, 4, 2)
    close(out, torch.stack([part.mean(0) for part in parts]), 1e-6)
    made.zero_()
    groups.global_avg_pool_bp(made, OFFSETS, grad, 4, 2)
    close(made, torch.cat([grad[:1].expand(3, 2) / 3, grad[2:3].expand(5, 2) / 5, grad[3:].expand(2, 2) / 2]), 1e-6)


def test_overlaps_with_instances() -> None:
    groups = module("point_groups")
    idx, labels = torch.tensor([0, 3, 5, 1, 1, 2, 7, 8, 4, 6]).int(), torch.tensor([0, 1, -100, 1, 2, 2, 0, 0, 1])
    sizes, scores = torch.tensor([3, 3, 2]).int(), numbers(10, 1, seed=4, low=0, high=1).float()
    for given in (None, scores):
        out = torch.zeros(4, 3)
        if given is None:
            groups.get_iou(idx, OFFSETS, labels, sizes, out, 3, 4)
        else:
            groups.get_mask_iou_on_pred(idx, OFFSETS, labels, sizes, out, 3, 4, given)
        for row in range(4):
            inside = [i for i in range(OFFSETS[row], OFFSETS[row + 1]) if given is None or given[i] > 0.5]
            for instance in range(3):
                common = sum(int(labels[idx[i]]) == instance for i in inside)
                share = common / (len(inside) + int(sizes[instance]) - common + 1e-5)
                assert out[row, instance].item() == pytest.approx(share, abs=1e-6)
        classes, made = torch.tensor([4, -100, 1]), torch.full((10, 1), -1.0)
        groups.get_mask_label(idx, OFFSETS, labels, classes, out, 3, 4, 0.2, made)
        for row in range(4):
            known = [float(out[row, 0]), 0.0, float(out[row, 2])]
            best = known.index(max(known)) if max(known) > 0 else 0
            for i in range(OFFSETS[row], OFFSETS[row + 1]):
                assert made[i].item() == (-1.0 if max(known) < 0.2 else float(int(labels[idx[i]]) == best))
