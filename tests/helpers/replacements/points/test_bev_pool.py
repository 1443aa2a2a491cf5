"""Sums by cell against a loop over points."""

from __future__ import annotations

from typing import Any

from tests.helpers.replacements.common import close, differences, module, numbers, torch

SIZES = (2, 2, 3, 4)


def test_sums_by_cell() -> None:
    pool = module("bev_pool")
    cells = torch.tensor(
        [[0, 1, 0, 0]] * 3 + [[2, 3, 1, 0]] + [[1, 0, 1, 1]] * 4 + [[2, 2, 0, 1]] * 2, dtype=torch.int32
    )
    lengths, starts = torch.tensor([3, 1, 4], dtype=torch.int32), torch.tensor([0, 3, 4], dtype=torch.int32)
    x, grad = numbers(10, 5), numbers(*SIZES, 5, seed=1)  # the last two points belong to no interval

    def written_out(x: Any) -> Any:
        out = torch.zeros(*SIZES, 5).double()
        for begin, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            y, column, z, b = cells[begin].tolist()
            for at in range(begin, begin + length):
                out[b, z, y, column] += x[at]
        return out

    given = (cells, lengths, starts, *SIZES)
    close(pool.bev_pool_forward(x, *given), written_out(x))
    close(pool.bev_pool_backward(grad, *given), differences(written_out, [x], 0, grad), 1e-6)
    none = (cells, lengths[:0], starts[:0], *SIZES)
    assert pool.bev_pool_forward(x, *none).abs().sum() == 0
    assert pool.bev_pool_backward(grad, *none).abs().sum() == 0
