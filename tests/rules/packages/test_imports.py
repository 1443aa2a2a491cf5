"""Packages whose import alone says that a program fails or differs on an NPU machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.options import Options
from npuify.report.verdicts.verdict import Level, judge
from npuify.rules.common.packages.import_guards import may_import
from npuify.rules.packages.imports import import_names

if TYPE_CHECKING:
    from pathlib import Path


def test_every_package_is_told_of_where_its_import_is_all_that_a_file_has(tmp_path: Path) -> None:
    names = sorted(import_names())
    for number, name in enumerate(names):
        (tmp_path / f"program_{number}.py").write_text(f"import {name}\n\nif __name__ == '__main__':\n    print(1)\n")
    result = scan([tmp_path], Options(jobs=1, cache=False))
    told = {finding.file for finding in result.findings}
    assert [name for number, name in enumerate(names) if f"program_{number}.py" not in told] == []
    # An import of apex that nothing uses is taken out.
    runs = {one.file for one in judge(result).programs if one.level is Level.RUNS}
    assert runs == {f"program_{names.index('apex')}.py"}


def test_a_project_that_is_such_a_package_itself_is_not_looked_at_for_it(tmp_path: Path) -> None:
    (tmp_path / "lightning").mkdir()
    (tmp_path / "lightning/__init__.py").write_text("")
    (tmp_path / "train.py").write_text("import lightning\n")
    result = scan([tmp_path], Options(jobs=1, cache=False))
    assert (result.findings, result.files_parsed) == ((), 0)


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        (b"import nets\n", True),
        (b"from models import base, nets as n\n", True),
        (b"from nets.base import A\n", True),
        (b"x = nets\nimport os\n", False),
        (b"import os\nnets = 1\n", False),
        (b"import subnets, nets_2\n", False),
        (b"important = nets\n", False),
        (b"nets", False),
        (b"import nets", True),
    ],
)
def test_a_text_may_import_a_module_whose_name_stands_behind_import_on_a_line(text: bytes, imports: bool) -> None:
    assert may_import(b"nets", text) is imports
