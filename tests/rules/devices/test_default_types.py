"""What of a file is parsed for a constructor that matters only where a type of CUDA's is the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.analysis.project import ProjectIndex
from npuify.engine.ruleset import RuleSet
from npuify.rules.selection import Selection
from npuify.source.text import Text

if TYPE_CHECKING:
    from pathlib import Path

SETS = "torch.set_default_tensor_type(torch.cuda.FloatTensor)\n"
MAKES = "x = torch.Tensor(2)\n"


@pytest.mark.parametrize(
    ("text", "other", "is_parsed"),
    [
        (MAKES, "", False),
        (MAKES, SETS, True),
        (SETS + MAKES, "", True),
        ("x = torch.tensor([2])\n", SETS, False),
    ],
)
def test_parsed_only_where_the_default_is_cudas(text: str, other: str, is_parsed: bool, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(f"import torch\n{other}")
    rules, read = RuleSet(Selection()), Text(f"import torch\n{text}".encode())
    without = rules.without(read, ProjectIndex(tmp_path, ["other.py"], []))
    assert without == (frozenset() if is_parsed else {"NPU136"})
    assert (b"torch.tensor(" in rules.words_to_parse(read.lower, without=without | {"NPU427"}).words) is is_parsed
