"""Packages whose import alone says that a program fails or differs on an NPU machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.engine.scan import scan
from npuify.options import Options
from npuify.report.verdicts.verdict import Level, judge
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
