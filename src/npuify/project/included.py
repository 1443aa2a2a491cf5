"""Requirement files that others name: ``-r base.in.txt``, ``-c pins``."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.project.files import ProjectFile
from npuify.project.ignores import IgnoreRules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_INCLUDE = re.compile(r"^[ \t]*(?:-r|--requirement|-c|--constraint)(?:[ \t]+|=)([^\s#]+)", re.MULTILINE)


def included_requirements(files: Sequence[ProjectFile], exclude: Iterable[str] = ()) -> list[ProjectFile]:
    """``files`` and what the requirement files among them include, whatever that is called, sorted by path.

    Only files below the project's root are taken, and none that ``exclude`` names.
    """
    found = {file.relative: file for file in files}
    excluded = IgnoreRules(exclude)
    pending = [file for file in files if file.kind == "requirements"]
    while pending:
        file = pending.pop()
        folder = posixpath.dirname(file.relative)
        for name in _includes(file.path):
            relative = posixpath.normpath(posixpath.join(folder, name))
            path = file.path.parent / name
            if relative in found or relative.startswith(("../", "/")) or "://" in name or not path.is_file():
                continue
            if path.is_symlink() or _excluded(relative, excluded):
                continue
            found[relative] = ProjectFile(relative, str(path), "requirements")
            pending.append(found[relative])
    return [found[relative] for relative in sorted(found)]


def _excluded(relative: str, excluded: IgnoreRules) -> bool:
    """Whether the path, or a folder that it lies in, is left out."""
    parts = relative.split("/")
    folders = ["/".join(parts[:length]) + "/" for length in range(1, len(parts))]
    return any(excluded.ignores(path, path.rstrip("/").rpartition("/")[2]) for path in (*folders, relative))


def _includes(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [name.replace("\\", "/") for name in _INCLUDE.findall(text)]
