"""Very many findings in one file take work in proportion to their number."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.options import Options

if TYPE_CHECKING:
    from pathlib import Path

FORMS = {
    "of a module": "import torch\nx = torch.zeros(3)\n{}",
    "of a function": "import torch\n\n\ndef main():\n    x = torch.zeros(3)\n{}\n\nif __name__ == '__main__':\n    main()\n",
}


def calls(folder: Path, text: str) -> int:
    """How many calls of npuify's functions a scan takes."""
    folder.mkdir()
    (folder / "train.py").write_text(text)
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        result = npuify.scan([folder], Options(jobs=1, cache=False))
    finally:
        sys.setprofile(None)
    assert len(result.findings) >= text.count(".cuda()")
    return count


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_twice_the_findings_take_twice_the_work(form: str, tmp_path: Path) -> None:
    indent = "    " if "def " in form else ""
    calls(tmp_path / "first", form.format(f"{indent}y = x.cuda()\n"))  # loads the rules
    few, more, most = (
        calls(tmp_path / str(count), form.format(f"{indent}y = x.cuda()\n" * count)) for count in (500, 1000, 1500)
    )
    assert most - more < 1.05 * (more - few)
