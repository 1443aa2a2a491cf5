"""A default tensor type of CUDA's is one for the whole project, also for files that say nothing of CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.options import Options

if TYPE_CHECKING:
    from pathlib import Path

BOXES = "import torch\n\ndef boxes(n):\n    mean = []\n    for k in range(n):\n        mean += [k, 1.0]\n    return torch.Tensor(mean).view(-1, 2)\n"
SETS = (
    "import torch\nfrom boxes import boxes\ntorch.set_default_tensor_type('torch.cuda.FloatTensor')\nprint(boxes(2))\n"
)


def constructors(root: Path, **files: str) -> list[tuple[str, int]]:
    """Where constructors of the default type are found."""
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
    found = scan([root], Options(cache=True)).findings
    return [(finding.file, finding.start.line) for finding in found if finding.code == "NPU136"]


def test_files_without_cuda_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    assert constructors(project, boxes=BOXES, train=SETS) == [("boxes.py", 7)]
    # What the cache knows of a file holds only as long as the other file sets the type.
    assert constructors(project, train=SETS.replace("torch.set_default", "# torch.no_")) == []
    assert constructors(project, train=SETS) == [("boxes.py", 7)]


@pytest.mark.parametrize(
    ("before", "after"),
    [("torch.cuda.FloatTensor", "torch.FloatTensor"), ("torch.set_default_tensor_type", "set_type")],
)
def test_other_projects_stay(before: str, after: str, tmp_path: Path) -> None:
    assert constructors(tmp_path, boxes=BOXES, train=SETS.replace(before, after)) == []


def test_other_functions_stay(tmp_path: Path) -> None:
    boxes = BOXES.replace("torch.Tensor(mean)", "torch.tensor(mean)") + "\nx = torch.Tensor([1]).cpu()\n"
    assert constructors(tmp_path, boxes=boxes, train=SETS) == []
