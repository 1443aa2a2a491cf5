"""Which functions and layers lead to an operator without a kernel."""

from __future__ import annotations

import pytest

from npuify.knowledge import load
from npuify.knowledge.explain.names import explain_name
from npuify.knowledge.pytorch.functions import functions, lack_of
from npuify.knowledge.release.imported import shipped_live_tables
from tests.harness import codes


@pytest.mark.parametrize("release", shipped_live_tables())
def test_derived_lacks_are_those_of_calls_of_the_imported_package(release: str) -> None:
    table = load(release)
    assert table.live is not None
    differ = {
        name
        for name, fell_back in table.live.calls.items()
        if name in functions() and bool(fell_back) != bool((lack := lack_of(name, table)) and lack.always)
    }
    # The database has no complex sample of one; what a kernel or a newer torch makes of the others only a call tells.
    assert differ <= {"torch.conj_physical", "torch.linalg.cholesky", "torch.combinations"}


@pytest.mark.parametrize(
    ("release", "code", "found"),
    [
        ("2.6.0.post5", "torch.scatter_reduce(torch.ones(2), 0, torch.tensor([0, 1]), torch.ones(2), 'sum')", True),
        ("2.13.0", "torch.scatter_reduce(torch.ones(2), 0, torch.tensor([0, 1]), torch.ones(2), 'sum')", False),
        ("2.8.0.post5", "torch.scatter_reduce(torch.ones(2), 0, torch.tensor([0, 1]), torch.ones(2), 'sum')", True),
        ("2.13.0", "torch.lcm(torch.tensor(2), torch.tensor(3))", True),
        ("2.8.0.post5", "torch.i0(torch.ones(2))", True),
        ("2.13.0", "torch.ones(2).index_reduce(0, torch.tensor([0]), torch.ones(1), 'prod')", True),
        ("2.13.0", "torch.add(torch.ones(2), 1)", False),
    ],
)
def test_operators_without_kernel_are_reported(release: str, code: str, found: bool) -> None:
    assert ("NPU414" in codes(f"import torch\n{code}\n", release=release)) is found


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("torch.nn.MaxPool2d", "NPU kernels"),
        ("torch.nn.HuberLoss", "aten::huber_loss"),
        ("torch.heaviside", "aten::heaviside"),
        ("torch.Tensor.lcm_", "aten::lcm"),
        ("torch._six.inf", "torch 2.13.0 lacks"),
        ("torch.rfft", "torch 2.13.0 lacks"),
    ],
)
def test_explain_answers_functions_layers_and_names_that_are_gone(name: str, says: str) -> None:
    explained = explain_name(name, torch_npu="2.13.0")
    assert explained is not None
    assert any(says in row.note for row in explained.releases), explained
