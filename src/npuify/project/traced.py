"""The trace of ``npuify run --trace``: what a program was seen to do at which line of a project's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from npuify.language import phrase
from npuify.model import FileError, NpuifyError

_SHOWN = 200
"""Characters of a line that a trace holds."""


class TracedPlace(msgspec.Struct, frozen=True):
    """One place of a file that asked for CUDA while the program ran."""

    line: int
    end_line: int
    call: str
    """The name as CUDA has it, or ``compared``."""
    arguments: str
    became: str
    status: str
    """``exact``, ``changed`` or ``no counterpart``."""
    count: int
    text: str = ""
    """The line, as it was then."""
    column: int | None = None
    """Where the call begins, in bytes from 0."""


class Trace(msgspec.Struct, frozen=True):
    """What a trace tells of a project."""

    file: str
    places: dict[str, tuple[TracedPlace, ...]]
    """Relative path of a file of the project → its places, by line."""
    started: tuple[tuple[str, str], ...] = ()
    """Runs that named CUDA on their command line: the program, as a relative path, and its arguments."""
    errors: tuple[FileError, ...] = ()
    """Files that have changed since, so that what was seen there counts no longer."""
    elsewhere: int = 0
    """Places in files that are not the project's: libraries."""


def read_trace(file: Path, root: Path, files: list[str]) -> Trace:
    """Read a trace, and find its files in a project; also one that ran elsewhere, by the ends of their paths.

    Args:
        file: what ``npuify run --trace`` wrote.
        root: the project's folder.
        files: its files, as relative paths with forward slashes.

    Raises:
        NpuifyError: it cannot be read, or is no trace.
    """
    rows = _rows(file)
    known = set(files)
    found: dict[str, list[TracedPlace]] = {}
    elsewhere = 0
    errors: list[FileError] = []
    lines: dict[str, list[str]] = {}
    for row in rows:
        if row.get("kind") != "call":
            continue
        relative = _relative(str(row.get("file", "")), root.resolve(), known)
        if relative is None:
            elsewhere += 1
            continue
        place = msgspec.convert({name: row.get(name) for name in TracedPlace.__struct_fields__}, TracedPlace)
        if relative not in lines:
            lines[relative] = (root / relative).read_text(encoding="utf-8", errors="replace").splitlines()
        there = lines[relative][place.line - 1 : place.line]
        if place.text and (not there or there[0].strip()[:_SHOWN] != place.text):
            if not any(error.file == relative for error in errors):
                advice = "run the program again with --trace"
                errors.append(FileError(relative, "has changed since the trace was written", place.line, advice))
            continue
        found.setdefault(relative, []).append(place)
    places = {name: tuple(sorted(of_file, key=lambda one: one.line)) for name, of_file in sorted(found.items())}
    return Trace(str(file), places, _named_cuda(rows, root.resolve(), known), tuple(errors), elsewhere)


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NpuifyError(phrase("the trace cannot be read: {error}", error=error), file=str(file)) from error
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            row = json.loads(line)
            if not isinstance(row, dict) or row.get("kind") not in ("call", "run"):
                raise ValueError
            if row["kind"] == "call":
                msgspec.convert({name: row.get(name) for name in TracedPlace.__struct_fields__}, TracedPlace)
        except (ValueError, msgspec.ValidationError) as error:
            raise NpuifyError(
                "this is no trace", advice="give the file that npuify run --trace wrote", file=str(file), line=number
            ) from error
        rows.append(row)
    return rows


def _relative(file: str, root: Path, known: set[str]) -> str | None:
    path = Path(file)
    try:
        inside = path.resolve().relative_to(root).as_posix()
    except (ValueError, OSError):
        inside = ""
    if inside in known:
        return inside
    if "site-packages" in path.parts or "dist-packages" in path.parts:
        return None
    # The program ran on another machine, or from a copy: the longest end of the path that is a file of the project.
    parts = file.replace("\\", "/").split("/")
    for start in range(1, len(parts)):
        end = "/".join(parts[start:])
        if end in known:
            return end
    return None


def _named_cuda(rows: list[dict[str, Any]], root: Path, known: set[str]) -> tuple[tuple[str, str], ...]:
    found = []
    for row in rows:
        arguments = [str(one) for one in row.get("arguments", [])] if row.get("kind") == "run" else []
        if any("cuda" in one or "nccl" in one for one in arguments):
            program = _relative(str(Path(str(row.get("folder", "")), *map(str, row.get("program", [])))), root, known)
            if program is not None:
                found.append((program, " ".join(arguments)))
    return tuple(dict.fromkeys(found))
