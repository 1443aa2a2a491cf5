"""The page about the program model shows what the model says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.site.sessions import steps

from npuify.analysis.explained.rows import explain_place, explain_text
from npuify.analysis.model import ProgramModel, Reach

from .harness import index_of

PAGE = Path(__file__).parents[2] / "docs" / "program-model.md"
FILES = {step.file: step.body for step in steps(PAGE.read_text()) if step.file}
ANSWERS = re.findall(
    r"^```console\n\$ npuify explain ([\w./]+):(\d+):(\d+)\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL
)


def test_the_page_has_examples() -> None:
    assert len(FILES) == 2
    assert len(ANSWERS) == 3


@pytest.mark.parametrize(("file", "line", "column", "expected"), ANSWERS)
def test_answers(file: str, line: str, column: str, expected: str) -> None:
    model = ProgramModel(index_of(FILES), Reach.PROGRAM)
    assert explain_text(model, file, int(line), int(column)) == expected


def test_every_module_is_on_the_page() -> None:
    folder = PAGE.parents[1] / "src" / "npuify" / "analysis"
    page = PAGE.read_text()
    missing = [path.stem for path in folder.rglob("*.py") if path.stem != "__init__" and f"`{path.stem}`" not in page]
    assert not [name for name in missing if name not in ("operators", "project")]


def test_a_line_without_a_column() -> None:
    model = ProgramModel(index_of({"main.py": "x = 'ä' + y('cuda')  # z\n"}), Reach.PROGRAM)
    assert [row.code for row in explain_place(model, "main.py", 1)] == [
        "x",
        "'ä' + y('cuda')",
        "'ä'",
        "y('cuda')",
        "y",
        "'cuda'",
    ]
    assert [row.code for row in explain_place(model, "main.py", 1, 13)] == ["y('cuda')", "'cuda'"]
    assert [row.place for row in explain_place(model, "main.py", 1, 13)] == ["main.py:1:11", "main.py:1:13"]


def test_places_without_expressions() -> None:
    model = ProgramModel(index_of({"main.py": "x = 1\n\npass\n", "broken.py": "x = (\n"}), Reach.PROGRAM)
    for file, line in (("main.py", 2), ("main.py", 3), ("main.py", 99), ("broken.py", 1), ("missing.py", 1)):
        assert explain_text(model, file, line) == f"{file}:{line}: there is no expression here\n"
