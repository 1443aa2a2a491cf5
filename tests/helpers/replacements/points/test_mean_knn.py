"""The mean squared distance to the three nearest points, against a loop."""

from __future__ import annotations

import pytest

from tests.helpers.replacements.common import close, module, numbers, torch

LARGEST = torch.finfo(torch.float32).max


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 30])
def test_mean_of_three(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mean_knn = module("mean_knn")
    monkeypatch.setattr(mean_knn, "_AT_ONCE", 100)  # several slices
    points = numbers(number, 3).float()
    if number > 8:
        points[5:8] = points[1]  # points in one place: their distance is 0
    wanted = []
    for i in range(number):
        others = sorted(float(((points[i] - points[j]) ** 2).sum()) for j in range(number) if j != i)
        three = torch.tensor((others + [LARGEST] * 3)[:3])
        wanted.append(float((three[0] + three[1] + three[2]) / 3))
    close(mean_knn.mean_of_three(points), torch.tensor(wanted), 1e-5)
