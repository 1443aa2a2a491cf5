"""What takes the place of xformers' operators beside attention, against its definitions and finite differences."""

from __future__ import annotations

from typing import Any

import pytest

from npuify.helpers.packages import xformers_ops
from tests.helpers.replacements.common import close, differences, numbers, torch


def _gated(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    """One number after the other."""
    made = torch.zeros(len(x), len(w3)).double()
    for n, row in enumerate(x):
        hidden = []
        for one, first, other, second in zip(w1, b1, w2, b2, strict=True):
            gate = (one * row).sum() + first
            hidden.append(gate / (1 + torch.exp(-gate)) * ((other * row).sum() + second))
        made[n] = (w3 * torch.stack(hidden)).sum(1) + b3
    return made


def _weights() -> list[Any]:
    shapes = ((6, 4), (6,), (6, 4), (6,), (5, 6), (5,))
    return [numbers(*shape, seed=seed) for seed, shape in enumerate(shapes, 1)]


def test_swiglu() -> None:
    given = [numbers(3, 4), *_weights()]
    close(xformers_ops.swiglu(*given), _gated(*given))
    leaves = [one.clone().requires_grad_() for one in given]
    grad = numbers(3, 5, seed=9)
    xformers_ops.swiglu(*leaves, op="any").backward(grad)
    for place, leaf in enumerate(leaves):
        close(leaf.grad, differences(_gated, given, place, grad), 1e-6)


@pytest.mark.parametrize("packed", [True, False])
def test_the_layer_takes_checkpoints_of_xformers(packed: bool) -> None:
    layer = xformers_ops.SwiGLU(4, 6, 5, _pack_weights=packed).double()
    w1, b1, w2, b2, w3, b3 = _weights()
    first = (
        {"w12.weight": torch.cat([w1, w2]), "w12.bias": torch.cat([b1, b2])}
        if packed
        else {"w1.weight": w1, "w1.bias": b1, "w2.weight": w2, "w2.bias": b2}
    )
    layer.load_state_dict({**first, "w3.weight": w3, "w3.bias": b3})
    x = numbers(2, 3, 4)
    close(layer(x).flatten(0, 1), _gated(x.flatten(0, 1), w1, b1, w2, b2, w3, b3))
    assert xformers_ops.SwiGLU(4, 6, bias=False)(torch.rand(2, 4)).shape == (2, 4)


def test_rows() -> None:
    sources, indices = [numbers(4, 3), numbers(5, 2)], [torch.tensor([2, 0]), torch.tensor([4, 1, 3])]
    wanted = [sources[0][2], sources[0][0], sources[1][4], sources[1][1], sources[1][3]]
    close(xformers_ops.index_select_cat(sources, indices), torch.cat(wanted))

    given, index = [numbers(5, 2, 3), numbers(2, 2, 3, seed=1), numbers(3, seed=2)], torch.tensor([3, 1])

    def added(into: Any, source: Any, scaling: Any) -> Any:
        made = into.clone()
        for row, at in enumerate(index.tolist()):
            made[at] = made[at] + 0.5 * source[row] * scaling
        return made

    changed = given[0].clone()
    assert xformers_ops.scaled_index_add(changed, index, given[1], given[2], 0.5) is changed
    close(changed, added(*given))
    leaves = [one.clone().requires_grad_() for one in given]
    grad = numbers(5, 2, 3, seed=5)
    xformers_ops.scaled_index_add(leaves[0] * 1, index, leaves[1], leaves[2], 0.5).backward(grad)
    for place, leaf in enumerate(leaves):
        close(leaf.grad, differences(added, given, place, grad), 1e-6)
    close(xformers_ops.scaled_index_add(given[0].clone(), index, given[1])[3], given[0][3] + given[1][0])


def test_norm() -> None:
    norm, x = xformers_ops.RMSNorm(4), numbers(3, 4).float()
    torch.nn.init.uniform_(norm.weight)
    wanted = [[v / ((sum(w * w for w in row) / 4 + 1e-6) ** 0.5) for v in row] for row in x.tolist()]
    close(norm(x), torch.tensor(wanted) * norm.weight, 1e-6)
    close(xformers_ops.RMSNorm(4, include_weight=False)(x), torch.tensor(wanted), 1e-6)
    moved, y = x.clone(), torch.ones(3, 4)
    close(norm.increment_and_forward_(moved, y), norm(x + 1), 1e-6)
    close(moved, x + 1)
    assert norm(x.bfloat16()).dtype == torch.bfloat16


def test_products_and_parts() -> None:
    a, b, mask = numbers(2, 3, 4), numbers(2, 4, 5), numbers(2, 3, 5, seed=7)
    made = xformers_ops.masked_matmul(a, b, mask > 0)
    assert torch.isinf(made[mask <= 0]).all()
    close(made[mask > 0], (a @ b)[mask > 0])
    close(xformers_ops.masked_matmul(a, b, mask), a @ b + mask)
    close(torch.stack(xformers_ops.unbind(a, 1), 1), a)
