"""Where projects are: folders to choose among, and those that were opened last."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final, NamedTuple

import platformdirs

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.rewrite.tree import replace_files

_MOST_RECENT: Final = 12
_MOST_FOLDERS: Final = 2000
_RECENT: Final = "recent.json"
_TELLING: Final = ("pyproject.toml", "setup.py", "requirements.txt", "setup.cfg", ".git")
"""A folder that holds one of these is a project, most likely."""


class Folder(NamedTuple):
    """A folder, and what to choose in it."""

    path: str
    parent: str
    folders: list[str]
    files: list[str]
    """Names of files of the kinds that were asked for."""
    is_project: bool
    more: int
    """Names that are left out."""


def look(path: str, endings: tuple[str, ...] = ()) -> Folder:
    """The names in a folder; the content of no file is read.

    Args:
        path: absolute; ``~`` is the home folder, and empty the current one.
        endings: of the files to name, such as ``.toml``.

    Raises:
        NpuifyError: there is no such folder, or it cannot be read.
    """
    place = Path(os.path.realpath(Path(path or ".").expanduser()))
    try:
        found = sorted(os.scandir(place), key=lambda one: one.name.lower())
    except OSError as error:
        raise NpuifyError(phrase("cannot be opened: {value}", value=error.strerror or error), file=str(place)) from None
    folders = [one.name for one in found if not one.name.startswith(".") and _is_folder(one)]
    files = [one.name for one in found if endings and one.name.endswith(endings)]
    is_project = any(one.name in _TELLING for one in found)
    more = max(len(folders) - _MOST_FOLDERS, 0)
    parent = str(place.parent) if place.parent != place else ""
    return Folder(str(place), parent, folders[:_MOST_FOLDERS], files[:_MOST_FOLDERS], is_project, more)


def recent() -> list[str]:
    """The projects that were opened last and are still there, the last one first."""
    try:
        known = json.loads((_state() / _RECENT).read_bytes())
    except (OSError, ValueError):
        return []
    paths = [one for one in known if isinstance(one, str)] if isinstance(known, list) else []
    return [one for one in paths if Path(one).exists()][:_MOST_RECENT]


def remember(path: Path) -> None:
    """Put a project first among those that were opened last. Where that cannot be written, it is not."""
    place = str(path.absolute())
    known = [place, *(one for one in recent() if one != place)][:_MOST_RECENT]
    try:
        _state().mkdir(parents=True, exist_ok=True)
        replace_files(_state(), {_RECENT: json.dumps(known).encode()})
    except (OSError, NpuifyError):
        return


def _state() -> Path:
    return Path(os.environ.get("NPUIFY_STATE_DIR") or platformdirs.user_state_dir("npuify", appauthor=False))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
