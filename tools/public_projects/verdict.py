"""What ``npuify scan`` says of a program before it is run, and whether the run bore it out."""

from __future__ import annotations

import ast
import difflib
import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.public_projects.places import is_named

FRAME = re.compile(r'File "([^"]+)", line (\d+)')
"""A frame of a traceback."""


class ScanError(Exception):
    """npuify scan gave no report."""


@dataclass
class Report:
    """What scan told."""

    level: str
    """runs, review, work or blocked."""
    whose: str
    """"program", where the report has a verdict for this entry point; else "project"."""
    findings: list[dict[str, Any]] = field(default_factory=list)


def scan(command: list[str], folder: Path, entry: str, environ: dict[str, str]) -> Report:
    """The verdict for one entry point of a project, or for the project where there is none of its own.

    Arguments:
        command: what starts ``npuify scan`` on the project, with its options.
        folder: where it is run.
        entry: the program, relative to the project.

    Raises:
        ScanError: it failed.
    """
    done = subprocess.run([*command, "--format", "json"], cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise ScanError(done.stderr[-1000:])
    return read(json.loads(done.stdout), entry)


def read(document: dict[str, Any], entry: str) -> Report:
    """Pick from scan's JSON what concerns a program."""
    findings = document["findings"]
    for program in document.get("programs") or document["verdict"].get("programs") or ():
        if program.get("file") == entry:
            return Report(program.get("level") or program["verdict"], "program", findings)
    return Report(document["verdict"]["level"], "project", findings)


def stops(said: str, copy: Path, original: Path) -> tuple[str, int] | None:
    """The place at which a migrated copy stopped, in the lines of the original: the last frame in the project.

    Arguments:
        said: what the run printed.
        copy: the migrated project.
        original: the project before migration.
    """
    frames = [(Path(file), int(line)) for file, line in FRAME.findall(said)]
    inside = [(file.relative_to(copy), line) for file, line in frames if file.is_relative_to(copy)]
    if not inside:
        return None
    file, line = inside[-1]
    return file.as_posix(), _line_before(original / file, copy / file, line)


def _line_before(original: Path, migrated: Path, line: int) -> int:
    """The line of the original that a line of the migrated file was; the line itself where the file is new."""
    if not original.is_file():
        return line
    before = original.read_text(encoding="utf-8", errors="replace").splitlines()
    after = migrated.read_text(encoding="utf-8", errors="replace").splitlines()
    for tag, first, last, start, end in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if start < line <= end:
            return min(first + line - start, max(last, first + 1)) if tag != "insert" else first + 1
    return line


def named(report: Report, place: tuple[str, int], original: Path) -> bool:
    """Whether a finding that is left to a person stands at this line, or where a name that is used there comes from.

    Args:
        report: what scan told.
        place: a file and a line of the original.
        original: the project before migration.
    """
    left = [one for one in report.findings if one["safety"] != "safe" and one["severity"] != "info"]
    file, line = place
    if any(one["file"] == file and one["line"] <= line <= max(one["end_line"], one["line"]) for one in left):
        return True
    texts = {name: text for name in {file, *(one["file"] for one in left)} if (text := _python(original / name))}
    return is_named([place], texts, {(one["file"], one["line"]) for one in left})


def _python(path: Path) -> str:
    """The text of a Python file; "" if that cannot be read, or is none."""
    try:
        text = path.read_text(encoding="utf-8") if path.suffix == ".py" else ""
        ast.parse(text)
    except (OSError, UnicodeDecodeError, SyntaxError):
        return ""
    return text


def judge(report: Report, problem: str, place: tuple[str, int] | None, original: Path) -> str:
    """How a run contradicts the verdict, in words; "" where it bears it out.

    Arguments:
        report: what scan told.
        problem: what was wrong with the run; "" if nothing was.
        place: where it stopped, if it did.
        original: the project before migration.
    """
    if not problem:
        # Of a project, that says only that something in it does not run.
        claimed = report.whose == "program" and report.level in ("work", "blocked")
        return f"scan says {report.level}, and it runs" if claimed else ""
    if report.level == "runs":
        return "scan says runs, and it does not"
    if place is None:
        return f"scan says {report.level}, and the run differs without stopping"
    if report.level != "blocked" and not named(report, place, original):
        return f"scan says {report.level}, but no finding names {place[0]}:{place[1]}, where it stops"
    return ""
