"""What takes torch_sparse's place, against dense matrices and dictionaries."""

from __future__ import annotations

from typing import Any

import pytest

from npuify.helpers.packages import sparse
from tests.helpers.replacements.common import close, differences, numbers, torch

INDEX = torch.tensor([[2, 0, 2, 1, 0, 2], [1, 3, 1, 0, 3, 0]])


@pytest.mark.parametrize("op", ["add", "mean", "min", "max"])
@pytest.mark.parametrize("shape", [(6,), (6, 2)])
def test_coalesce(op: str, shape: tuple[int, ...]) -> None:
    values = numbers(*shape)

    def together(values: Any) -> Any:
        cells: dict[tuple[int, int], list[Any]] = {}
        for at, one in enumerate(values):
            cells.setdefault((int(INDEX[0, at]), int(INDEX[1, at])), []).append(one)
        functions = {"add": sum, "mean": lambda all_: sum(all_) / len(all_)}
        of_two = {"min": torch.minimum, "max": torch.maximum}
        made = []
        for _, parts in sorted(cells.items()):
            if op in functions:
                made.append(functions[op](parts))
            else:
                made.append(parts[0] if len(parts) == 1 else of_two[op](*parts))
        return torch.stack(made)

    index, made = sparse.coalesce(INDEX, values, 3, 4, op)
    assert index.t().tolist() == [[0, 3], [1, 0], [2, 0], [2, 1]]
    close(made, together(values))
    given, grad = values.clone().requires_grad_(), numbers(*made.shape, seed=1)
    got = torch.autograd.grad(sparse.coalesce(INDEX, given, 3, 4, op)[1], given, grad)[0]
    close(got, differences(together, [values], 0, grad), 1e-6)
    alone = sparse.coalesce(INDEX[:, 1:4], values[1:4], 3, 4, op)
    assert alone[0].t().tolist() == [[0, 3], [1, 0], [2, 1]]
    close(alone[1], values[[1, 3, 2]])
    assert sparse.coalesce(INDEX, None, 3, 4)[1] is None


def test_transpose_and_eye() -> None:
    values = numbers(6)
    index, made = sparse.transpose(INDEX, values, 3, 4)
    assert index.t().tolist() == [[0, 1], [0, 2], [1, 2], [3, 0]]
    close(made, torch.stack([values[3], values[5], values[0] + values[2], values[1] + values[4]]))
    index, same = sparse.transpose(INDEX, values, 3, 4, coalesced=False)
    assert torch.equal(index, INDEX.flip(0))
    assert same is values
    index, ones = sparse.eye(3, dtype=torch.float64)
    assert index.tolist() == [[0, 1, 2]] * 2
    assert ones.tolist() == [1.0] * 3


def test_products() -> None:
    values, matrix = numbers(6), numbers(4, 5, seed=1)

    def dense(values: Any, matrix: Any) -> Any:
        whole = torch.zeros(3, 4, dtype=torch.float64).index_put(tuple(INDEX), values, accumulate=True)
        return whole @ matrix

    close(sparse.spmm(INDEX, values, 3, 4, matrix), dense(values, matrix))
    given, grad = [values.clone().requires_grad_(), matrix.clone().requires_grad_()], numbers(3, 5, seed=2)
    made = torch.autograd.grad(sparse.spmm(INDEX, given[0], 3, 4, given[1]), given, grad)
    for which, one in enumerate(made):
        close(one, differences(dense, [values, matrix], which, grad), 1e-6)
    stack = numbers(2, 4, 5, seed=3)
    close(sparse.spmm(INDEX, values, 3, 4, stack)[1], dense(values, stack[1]))
