"""What a project is called as a package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.project.toml import TOMLDecodeError, parse

if TYPE_CHECKING:
    from pathlib import Path

_CALLED = re.compile(r"(?:^|[,(\s])name\s*=\s*[\"']([\w.-]+)[\"']")
_SETUP = re.compile(r"\bsetup\s*\(")
_IN_CFG = re.compile(r"^\[metadata\][^\[]*?^name\s*=\s*([\w.-]+)", re.MULTILINE | re.DOTALL)


def own_name(root: Path) -> str:
    """The name under which a project is installed, with ``-`` for ``_`` and in lower case; empty where none is told.

    pyproject.toml is asked first (``[project]``, Poetry's table), then setup.cfg, then setup.py, of which nothing but a
    literal is read.

    Args:
        root: of the project.
    """
    name = _in_pyproject(_text(root / "pyproject.toml")) or _matched(_IN_CFG, _text(root / "setup.cfg"))
    if not name:
        script = _text(root / "setup.py")
        call = _SETUP.search(script)
        name = _matched(_CALLED, script[call.end() - 1 :]) if call is not None else ""
    return re.sub(r"[-_.]+", "-", name).lower()


def _in_pyproject(text: str) -> str:
    try:
        content = parse(text)
    except (TOMLDecodeError, RecursionError):
        return ""
    tool = content.get("tool")
    for table in (content.get("project"), tool.get("poetry") if isinstance(tool, dict) else None):
        name = table.get("name") if isinstance(table, dict) else None
        if isinstance(name, str):
            return name
    return ""


def _matched(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match is not None else ""


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
