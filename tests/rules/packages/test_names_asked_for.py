"""Names that are gone from torch, asked for by getattr."""

from __future__ import annotations

import pytest

from ...harness import findings


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('f = getattr(torch, "symeig")', True),
        ('f = getattr(torch, "symeig", None)', False),
        ('f = torch.symeig if hasattr(torch, "symeig") else getattr(torch, "symeig")', False),
        ('f = getattr(object, "symeig")', False),
        ('six = __import__("torch._six")', True),
        ('six = __import__("torch.nn")', False),
        ('import importlib\nsix = importlib.import_module("torch._six")', True),
        ('from importlib import import_module\nsix = import_module("torch._six")', True),
        ("a = torch.ones(2, 2)\nb = a.eig()", True),
        ("def f(a):\n    return a.symeig(True)", True),
        ("def f(a):\n    return a.eig()", False),
        ("class Solver:\n    def symeig(self): ...\n\n\nSolver().symeig()", False),
        ("from torch.utils.ffi import _wrap_function", True),
        ("from torchvision.transforms.functional_tensor import resize", True),
        ("from torchvision.transforms.functional_tensor import rgb_to_grayscale", True),
        ("try:\n    import torchtext\nexcept ImportError:\n    torchtext = None", False),
    ],
)
def test_a_name_that_is_asked_for_without_another(line: str, told: bool) -> None:
    assert ("NPU660" in [one.code for one in findings(f"import torch\n{line}\n")]) is told


@pytest.mark.parametrize(
    ("torch_npu", "line", "said"),
    [
        ("2.7.1.post11", "import torchtext.data as data", "there is no torchtext for torch 2.7.1"),
        ("2.7.1.post11", "from torchtext.data import Field", "there is no torchtext for torch 2.7.1"),
        (
            "2.1.0.post17",
            "from torchtext.data import Field",
            "the torchtext of torch 2.1.0 has no torchtext.data.Field",
        ),
        ("2.1.0.post17", "from torchtext.data import get_tokenizer", ""),
    ],
)
def test_torchtext_ends_with_torch_2_3(torch_npu: str, line: str, said: str) -> None:
    told = [one.message for one in findings(f"import torch\n{line}\n", release=torch_npu) if one.code == "NPU660"]
    assert [message.startswith(said) for message in told] == ([True] if said else [])
