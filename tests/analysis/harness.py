"""Projects written in a test, and questions about the places marked in them."""

from __future__ import annotations

import ast
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.analysis.model import ProgramModel, Reach
from npuify.analysis.project import ProjectIndex
from npuify.analysis.values import describe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.analysis.files import FileModel
    from npuify.analysis.values import Values

_FOLDER = tempfile.TemporaryDirectory(prefix="npuify-analysis-")
"""What holds the projects; it goes when the tests end."""
MARK = "ASK"
"""``ASK(x)`` marks an expression that a test asks about."""


def index_of(files: Mapping[str, str]) -> ProjectIndex:
    """The index of a project of these files."""
    root = Path(tempfile.mkdtemp(dir=_FOLDER.name))
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ProjectIndex(root, sorted(files), [])


def marked(model: ProgramModel, relative: str) -> list[tuple[ast.expr, FileModel]]:
    """The expressions of a file that are marked, in their order."""
    file = model.file(relative)
    assert file is not None
    calls = [file.parent(node) for node in file.references(MARK)]
    found = [call.args[0] for call in calls if isinstance(call, ast.Call)]
    return [(node, file) for node in sorted(found, key=lambda node: (node.lineno, node.col_offset))]


def asked(text: str, others: Mapping[str, str] | None = None, *, reach: Reach = Reach.PROGRAM) -> list[Values]:
    """What the marked expressions of ``main.py`` stand for."""
    index = index_of({"main.py": text, **(others or {})})
    model = ProgramModel(index, reach)
    if reach is Reach.FILE:
        source = index.load("main.py")
        assert source is not None
        model.open(source)
    return [model.values(node, file) for node, file in marked(model, "main.py")]


def words(text: str, others: Mapping[str, str] | None = None, *, reach: Reach = Reach.PROGRAM) -> list[str]:
    """The same in words, each set in one line."""
    return [said(values) for values in asked(text, others, reach=reach)]


def said(values: Values) -> str:
    return ", ".join(sorted(describe(value) for value in values)) or "nothing"
