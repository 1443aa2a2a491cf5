"""The nearest points against sorting, point by point."""

from __future__ import annotations

import pytest

from tests.helpers.replacements.common import close, module, numbers, torch


def test_knn(monkeypatch: pytest.MonkeyPatch) -> None:
    nearest = module("nearest_points")
    monkeypatch.setattr(nearest, "_AT_ONCE", 40)  # several slices
    ref, query = numbers(3, 17), numbers(3, 6, seed=1)
    ref[:, 5] = ref[:, 9]  # equally near: the first comes first
    distances, places = nearest.knn(ref, query, 4)
    for j in range(6):
        apart = [float(((ref[:, i] - query[:, j]) ** 2).sum()) for i in range(17)]
        order = sorted(range(17), key=lambda i: (apart[i], i))[:4]
        assert places[:, j].tolist() == [one + 1 for one in order]
        close(distances[:, j], torch.tensor([apart[one] ** 0.5 for one in order], dtype=torch.float64))


@pytest.mark.parametrize("number", [3, 20])
def test_knn_with_room(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    nearest = module("nearest_points")
    monkeypatch.setattr(nearest, "_AT_ONCE", 100)
    points, centres = numbers(2, number, 3), numbers(2, 6, 3, seed=1)
    points[0, 1] = 1e6  # too far to count
    idx, apart = torch.full((2, 6, 5), 7, dtype=torch.int32), torch.zeros(2, 6, 5, dtype=torch.float64)
    nearest.knn_wrapper(2, number, 6, 5, points, centres, idx, apart)
    for b in range(2):
        for j in range(6):
            squared = ((points[b] - centres[b, j]) ** 2).sum(-1).tolist()
            order = [one for one in sorted(range(number), key=squared.__getitem__) if squared[one] < 1e10][:5]
            missing = 5 - len(order)
            assert idx[b, j].tolist() == order + [0] * missing
            wanted = [squared[one] for one in order] + [1e10] * missing
            close(apart[b, j], torch.tensor(wanted, dtype=torch.float64))


def test_points_in_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    nearest = module("nearest_points")
    monkeypatch.setattr(nearest, "_AT_ONCE", 100)
    points, centres = numbers(2, 20, 3).float(), numbers(2, 6, 3, seed=1).float()
    centres[0, 0], centres[1, 3] = points[0, 7], 9.0
    idx = torch.full((2, 6, 4), -7, dtype=torch.int32)
    assert nearest.ball_query_wrapper(2, 20, 6, 0.4, 0.8, 4, centres, points, idx) == 1
    for b in range(2):
        for j in range(6):
            squared = ((points[b] - centres[b, j]) ** 2).sum(-1).tolist()
            found = [k for k in range(20) if squared[k] == 0 or 0.4**2 <= squared[k] < 0.8**2][:4]
            assert idx[b, j].tolist() == (found + [found[0]] * (4 - len(found)) if found else [-7] * 4)
    few = torch.full((2, 6, 30), -7, dtype=torch.int32)
    nearest.ball_query_wrapper(2, 20, 6, 0.0, 9.0, 30, centres[:, :6] * 0, points, few)
    assert few[0, 0].tolist() == [*range(20), *[0] * 10]
