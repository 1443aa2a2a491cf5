"""What lies between a project before its migration and the project as it is: a patch that repeats it."""

from __future__ import annotations

import difflib
import filecmp
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.project.files import find_files

if TYPE_CHECKING:
    from collections.abc import Iterable

_LARGEST: Final = 1_000_000
"""Bytes. Larger files are data or weights, which no patch should carry."""


class Patch(msgspec.Struct, frozen=True):
    """A unified diff for ``patch -p1``."""

    data: bytes
    files: tuple[str, ...]
    """What it changes, adds or removes."""
    left_out: tuple[str, ...]
    """Files that differ, and are binary or too large for it."""


def between(source: Path, project: Path) -> Patch:
    """The patch from ``source`` to ``project``: npuify's edits, and those that a person made afterwards.

    What .gitignore files name, reports of npuify, and files that only runs leave behind are no part of it.
    """
    old, new = _files(source), _files(project)
    kept = {*_kept(source), *_kept(project)}
    old, new = ({name: found for name, found in table.items() if name in kept} for table in (old, new))
    pieces, files, left_out = [], [], []
    for name in sorted({*old, *new}):
        # What runs leave behind, and data that was moved away, is no change of the project.
        if (name in old) != (name in new) and (old | new)[name][1] == "other":
            continue
        if name in old and name in new and _same(old[name][0], new[name][0]):
            continue
        before, after = (_read(table[name][0]) if name in table else b"" for table in (old, new))
        if before is None or after is None:
            left_out.append(name)
            continue
        pieces.append(_diff(name, before, after, added=name not in old, removed=name not in new))
        files.append(name)
    return Patch(b"".join(pieces), tuple(files), tuple(left_out))


def of_text(diff: str, files: Iterable[str]) -> Patch:
    """The patch of a migration that was only planned."""
    return Patch(diff.encode("utf-8", "surrogateescape"), tuple(files), ())


def _files(root: Path) -> dict[str, tuple[Path, str]]:
    return {file.relative: (file.path, file.kind) for file in find_files([root], respect_gitignore=False)}


def _kept(root: Path) -> list[str]:
    """Files that no run has left behind, as far as .gitignore files tell."""
    return [file.relative for file in find_files([root], outside_repositories=True)]


def _same(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def _read(path: Path) -> bytes | None:
    """None for what a patch of text cannot carry."""
    try:
        if path.stat().st_size > _LARGEST:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return None if b"\0" in data else data


def _diff(name: str, before: bytes, after: bytes, *, added: bool, removed: bool) -> bytes:
    # Names with spaces or line ends confuse patch; a tab after the name ends it.
    label = name.encode("utf-8", "surrogateescape") + (b"\t" if " " in name else b"")
    head = b"/dev/null" if added else b"a/" + label
    tail = b"/dev/null" if removed else b"b/" + label
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(before), _lines(after), head, tail)
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes) -> list[bytes]:
    """Lines as patch sees them: ended by a newline only."""
    pieces = data.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
