"""The helper for flash_attn's bert_padding computes what the functions are documented to, forward and backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.helpers import PADDING
from npuify.options import Options
from npuify.rewrite.plan import plan

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch", reason="needs torch, to compute with")
if not hasattr(torch, "softmax"):
    pytest.skip("needs a real torch, to compute with", allow_module_level=True)

from npuify.helpers import padding  # noqa: E402

MASK = [[1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]]


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_rows_without_padding_and_back(dtype: str) -> None:
    mask = torch.tensor(MASK).to(getattr(torch, dtype))
    x = torch.randn(3, 4, 2, 5, requires_grad=True)
    rows, indices, begins, longest = padding.unpad_input(x, mask)
    kept = [(i, j) for i, row in enumerate(MASK) for j, one in enumerate(row) if one]
    assert indices.tolist() == [i * 4 + j for i, j in kept]
    assert begins.tolist() == [0, 3, 3, 5]
    assert (begins.dtype, longest) == (torch.int32, 3)
    assert torch.equal(rows, torch.stack([x[i, j] for i, j in kept]))
    back = padding.pad_input(rows, indices, 3, 4)
    keep = torch.tensor(MASK, dtype=torch.bool)[:, :, None, None]
    assert torch.equal(back, torch.where(keep, x, torch.zeros_like(x)))
    back.square().sum().backward()
    assert torch.equal(x.grad, torch.where(keep, 2 * x, torch.zeros_like(x)).detach())


def test_rows_that_are_there_and_not_used() -> None:
    used, unused = torch.tensor(MASK), torch.tensor([[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]])
    rows, indices, begins, longest, lengths = padding.unpad_input_used(torch.randn(3, 4, 2), used, unused)
    assert (len(rows), indices.tolist()) == (7, [0, 1, 2, 3, 4, 8, 10])
    assert (begins.tolist(), longest, lengths.tolist()) == ([0, 4, 5, 7], 4, [3, 0, 2])


def test_the_module_is_written_beside_what_imports_it(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net/__init__.py").write_text("")
    (tmp_path / "net/rows.py").write_text(
        "import torch\nfrom flash_attn.bert_padding import pad_input\n\n\ndef back(x, at):\n    return pad_input(x, at, 1, 2)\n"
    )
    _, contents = plan(tmp_path, Options())
    assert b"from net.npuify_padding import pad_input" in contents["net/rows.py"]
    written = contents[f"net/{PADDING}.py"]
    assert written.startswith(b"# npuify: ignore-file - written by `npuify migrate`\n")
    compile(written, "npuify_padding.py", "exec")
