"""Files that say which packages a project needs: each requirement with its place, and where another may be put.

One module a format. All of them read bytes as Latin-1, so that an offset of the text is an offset of the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.source.requirements.entry import Document, Entry, Spot, UnreadableRequirements

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Document", "Entry", "Spot", "UnreadableRequirements", "format_of", "read"]

_BY_NAME = {"pyproject.toml": "pyproject", "pipfile": "pipfile", "setup.py": "setup.py", "setup.cfg": "setup.cfg"}


def format_of(relative: str, kind: str) -> str | None:
    """The format of the file at ``relative``, by its name and kind alone; None where it holds no requirements."""
    name = relative.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    if kind == "requirements":
        return "pip"
    if kind == "yaml" and ("env" in name or "conda" in name):
        return "conda"
    return "lock" if kind == "lock" else None


def read(format_name: str, data: bytes) -> Document:
    """The requirements in a file's text, given as UTF-8.

    Raises:
        UnreadableRequirements: the file is not of that format.
    """
    from npuify.source.requirements import conda, lock, pip, pyproject, setup_cfg, setup_script

    readers: dict[str, Callable[[str], Document]] = {
        "pip": pip.read,
        "pyproject": pyproject.read_pyproject,
        "pipfile": pyproject.read_pipfile,
        "setup.py": setup_script.read,
        "setup.cfg": setup_cfg.read,
        "conda": conda.read,
        "lock": lock.read,
    }
    return readers[format_name](data.decode("latin-1"))
