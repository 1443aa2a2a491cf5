"""Which files a benchmark reads: the folders named on the command line, else this Python's own library."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from npuify.project import find_files


def roots(arguments: list[Path]) -> list[Path]:
    """The folders to read: ``arguments``, or the standard library and the installed packages when there are none."""
    if arguments:
        return [path.resolve() for path in arguments]
    found = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    return [path for path in found if path.is_dir()]


def python_files(folders: list[Path]) -> list[Path]:
    """The Python files that ``npuify scan`` would look at in ``folders``."""
    files = find_files(folders, exclude=(), respect_gitignore=True)
    return sorted(file.path for file in files if file.kind == "python")
