"""What takes torch_cluster's place, against loops over points."""

from __future__ import annotations

import math
from typing import Any

import pytest

from npuify.helpers.packages import cluster
from tests.helpers.replacements.common import numbers, torch

BATCH_X, BATCH_Y = torch.tensor([0] * 7 + [1] * 9), torch.tensor([0] * 4 + [1] * 3)


def _apart(x: Any, y: Any, cosine: bool = False) -> list[list[float]]:
    if cosine:
        return [[1 - float(a @ b / (a.norm() * b.norm())) for a in x] for b in y]
    return [[float(((a - b) ** 2).sum()) for a in x] for b in y]


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("k", [3, 12])
def test_knn(sets: bool, cosine: bool, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_AT_ONCE", 100)  # several slices
    x, y = numbers(16, 3), numbers(7, 3, seed=1)
    x[4] = x[2]  # equally near: the first comes first
    apart, wanted = _apart(x, y, cosine), []
    for j in range(7):
        allowed = [i for i in range(16) if not sets or BATCH_X[i] == BATCH_Y[j]]
        wanted += [(j, i) for i in sorted(allowed, key=lambda i: (round(apart[j][i], 12), i))[:k]]
    given = (BATCH_X, BATCH_Y) if sets else ()
    assert cluster.knn(x, y, k, *given, cosine=cosine).t().tolist() == [list(one) for one in wanted]


@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
@pytest.mark.parametrize("loop", [False, True])
def test_graphs(flow: str, loop: bool) -> None:
    x = numbers(16, 2)
    apart = _apart(x, x)
    nearest, inside = [], []
    for j in range(16):
        allowed = [i for i in range(16) if BATCH_X[i] == BATCH_X[j]]
        order = sorted(allowed, key=lambda i: (apart[j][i], i))[: 3 if loop else 4]
        nearest += [(j, i) for i in order if loop or i != j]
        order = [i for i in allowed if apart[j][i] < 0.49][: 4 if loop else 5]
        inside += [(j, i) for i in order if loop or i != j]
    turned = [
        [list(one)[::-1] for one in pairs] if flow[0] == "s" else [list(one) for one in pairs]
        for pairs in (nearest, inside)
    ]
    assert cluster.knn_graph(x, 3, BATCH_X, loop, flow).t().tolist() == turned[0]
    assert cluster.radius_graph(x, 0.7, BATCH_X, loop, 4, flow).t().tolist() == turned[1]


def test_nearest_and_nothing() -> None:
    x, y = numbers(16, 2), numbers(7, 2, seed=1)
    apart = _apart(y, x)
    for given in ((), (BATCH_X, BATCH_Y)):
        wanted = [
            min((j for j in range(7) if not given or BATCH_Y[j] == BATCH_X[i]), key=apart[i].__getitem__)
            for i in range(16)
        ]
        assert cluster.nearest(x, y, *given).tolist() == wanted
    assert cluster.knn(x[:0], y, 2).shape == (2, 0)
    assert cluster.radius(x, y[:0], 2).shape == (2, 0)
    assert cluster.knn(x[:, 0], y[:, 0], 1).shape == (2, 7)


@pytest.mark.parametrize("ratio", [0.3, 0.5, 1.0])
def test_samples(ratio: float) -> None:
    x, wanted = numbers(16, 3), []
    for begin, end in ((0, 7), (7, 16)):
        taken = [begin]
        while len(taken) < math.ceil((end - begin) * ratio):
            left = {i: min(float(((x[i] - x[j]) ** 2).sum()) for j in taken) for i in range(begin, end)}
            taken.append(max(left, key=left.__getitem__))
        wanted += taken
    assert cluster.fps(x, BATCH_X, ratio, random_start=False).tolist() == wanted
    assert cluster.fps(x, ratio=ratio, random_start=False, ptr=[0, 7, 16]).tolist() == wanted
    whole = cluster.fps(x, ratio=ratio)
    assert len(whole) == len(set(whole.tolist())) == math.ceil(16 * ratio)


def test_cells() -> None:
    points, size = torch.tensor([[0.0, 0], [11, 9], [2, 8], [2, 2], [8, 3]]), torch.tensor([5.0, 5])
    assert cluster.grid_cluster(points, size).tolist() == [0, 5, 3, 0, 1]
    assert cluster.grid_cluster(points, size, torch.tensor([-5.0, 0]), torch.tensor([14.0, 9])).tolist() == [
        1,
        7,
        5,
        1,
        2,
    ]
