"""From a file on the disk to what the program model knows at a place of it."""

from __future__ import annotations

import re
from pathlib import Path

from npuify.analysis.explained.rows import Row, explain_place
from npuify.analysis.model import ProgramModel, Reach
from npuify.analysis.project import ProjectIndex, module_name
from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.project import find_files
from npuify.source.python import PythonSource
from npuify.source.text import UnreadableText

_PROJECT = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What stands in the folder of a project."""


_PLACE = re.compile(r"(?P<file>.+?\.\w+):(?P<line>\d+)(?::(?P<column>\d+))?")


def place_in(what: str) -> tuple[Path, int, int | None] | None:
    """File, line and column of ``FILE:LINE`` or ``FILE:LINE:COLUMN``; None for any other text."""
    found = _PLACE.fullmatch(what)
    if found is None:
        return None
    return Path(found["file"]), int(found["line"]), int(found["column"]) if found["column"] else None


def explain_file(file: Path, line: int, column: int | None = None, project: Path | None = None) -> tuple[Row, ...]:
    """What is known of the expressions of a line, the outer ones first.

    Args:
        file: a Python file.
        line: from 1.
        column: from 1, in characters; only the expressions that cover it.
        project: the folder whose files count; None for the nearest one around the file that looks like a project.

    Raises:
        NpuifyError: the file is not there, is no Python file or cannot be parsed, or has no expression there.
    """
    if not file.is_file():
        raise NpuifyError("there is no such file", file=str(file))
    if file.suffix not in (".py", ".pyi", ".pyw"):
        raise NpuifyError("only places in Python files can be explained", file=str(file))
    path = file.resolve()
    root = project.resolve() if project is not None else _project_of(path)
    if not path.is_relative_to(root):
        raise NpuifyError(phrase("the file is not in the project {project}", project=project), file=str(file))
    relative = path.relative_to(root).as_posix()
    _check_syntax(path, relative, file)
    found = {one.relative for one in find_files([root], kinds={"python"}, errors=[])}
    index = ProjectIndex(root, sorted({*found, relative}), [])
    rows = explain_place(ProgramModel(index, Reach.PROGRAM), relative, line, column)
    if not rows:
        raise NpuifyError("there is no expression here", file=str(file), line=line)
    return tuple(rows)


def _project_of(path: Path) -> Path:
    return next((folder for folder in path.parents if any((folder / name).exists() for name in _PROJECT)), path.parent)


def _check_syntax(path: Path, relative: str, file: Path) -> None:
    try:
        PythonSource(relative, module_name(relative), path.read_bytes())
    except OSError as error:
        raise NpuifyError(phrase("cannot be read: {value}", value=error.strerror or error), file=str(file)) from None
    except UnreadableText as error:
        raise NpuifyError(error.message, file=str(file), line=error.line) from None
    except SyntaxError as error:
        raise NpuifyError(
            phrase("cannot be parsed: {msg}", msg=error.msg), file=str(file), line=error.lineno or 0
        ) from None
