"""Functions without a kernel that a file calls by other names than torch's, or hands on without calling them."""

from __future__ import annotations

import pytest

from ...harness import findings


def told(text: str) -> list[tuple[int, str]]:
    return [(one.start.line, one.subject) for one in findings(text, release="2.7.1.post11") if one.code == "NPU414"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch as T\ny = T.i0(T.ones(2))\n", [(2, "torch.i0")]),
        ("import torch as T\nz = T.ones(2)\ny = T.lgamma(z), z.lgamma()\n", [(3, "torch.lgamma")] * 2),
        ("import torch as T\ny = T.linalg.eigh(T.eye(2))\n", [(2, "torch.linalg.eigh")]),
        ("import torch\nimport torch.linalg as LA\ny = LA.eigh(torch.eye(2))\n", [(3, "torch.linalg.eigh")]),
        ("import torch\nfrom torch import special as sp\ny = sp.i1(torch.eye(2))\n", [(3, "torch.special.i1")]),
        ("from torch import lcm as least, nn\ny = least(1, 2)\n", [(1, "torch.lcm")]),
        ("from torch import (\n    nn,\n    i0,\n)\ny = i0(1)\n", [(3, "torch.i0")]),
        ("import torch\nby_name = {'i0': torch.i0}\n", [(2, "torch.i0")]),
        ("import torch\nmapped = torch.vmap(torch.i0)\n", [(2, "torch.i0")]),
        ("import torch\ny = torch.ops.aten.lcm.default(1, 2)\n", [(2, "torch.lcm")]),
        ("import torch\nis_it = torch.i0 is None\n", []),
        ("import torch as T\ny = T.nn.Linear(2, 2)  # not T.i0\n", []),
        ("from torch import nn, optim\ny = nn.Linear(2, 2)\n", []),
        ("import torch\ny = torch.ops.aten.add.Tensor(1, 2)\n", []),
    ],
)
def test_what_is_called_by_another_name(text: str, expected: list[tuple[int, str]]) -> None:
    assert told(text) == expected
