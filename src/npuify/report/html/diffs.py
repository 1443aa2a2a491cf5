"""A unified diff, taken apart by file, so that each change can be shown with its lines."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Line(NamedTuple):
    """One line of a hunk. ``kind`` is ``" "``, ``"-"`` or ``"+"``; a number is 0 on the side that lacks the line."""

    kind: str
    old: int
    new: int
    text: str


def parse(diff: str) -> dict[str, list[list[Line]]]:
    """The hunks of each file. Lines are counted, so that content which looks like a header is content."""
    files: dict[str, list[list[Line]]] = {}
    hunks: list[list[Line]] = []
    old = new = old_left = new_left = 0
    for line in diff.split("\n"):
        kind, text = line[:1], line[1:]
        if (old_left or new_left) and kind in {" ", "-", "+", ""}:
            hunks[-1].append(Line(kind or " ", old if kind != "+" else 0, new if kind != "-" else 0, text))
            old, old_left = (old, old_left) if kind == "+" else (old + 1, old_left - 1)
            new, new_left = (new, new_left) if kind == "-" else (new + 1, new_left - 1)
        elif line.startswith("--- a/"):
            hunks = files.setdefault(line[6:], [])
        elif match := _HEAD.match(line):
            old, new = int(match[1]), int(match[3])
            old_left, new_left = (int(count) if count is not None else 1 for count in match.group(2, 4))
            hunks.append([])
    return files


def block_at(hunks: list[list[Line]], line: int) -> list[Line]:
    """The removed and added lines that stand together and hold ``line`` of the original file; empty where none does."""
    for hunk in hunks:
        block: list[Line] = []
        for one in [*hunk, Line(" ", 0, 0, "")]:
            if one.kind != " ":
                block.append(one)
                continue
            if block and _holds(block, line, following=one.old):
                return block
            block = []
    return []


def _holds(block: list[Line], line: int, *, following: int) -> bool:
    removed = [one.old for one in block if one.kind == "-"]
    # Where lines are only added, the place is that of the line which follows them.
    return removed[0] <= line <= removed[-1] if removed else line == following


def patched(lines: list[str], hunks: list[list[Line]]) -> list[str] | None:
    """``lines`` of the original with ``hunks`` applied, or None where they are those of another file."""
    result: list[str] = []
    at = 0
    for hunk in hunks:
        start = next((one.old for one in hunk if one.old), None)
        if start is None:
            return None
        result += lines[at : start - 1]
        at = start - 1
        for one in hunk:
            if one.kind != "+":
                if at >= len(lines) or lines[at] != one.text:
                    return None
                at += 1
            if one.kind != "-":
                result.append(one.text)
    return result + lines[at:]


def narrowed(lines: Sequence[tuple[str, str]], width: int, *, column: int = 0) -> list[str]:
    """The texts of ``lines``, each of which is a kind and a text; of one longer than ``width``, the part that matters.

    That is where a removed line and the added one in its place part; of a line that stays, the part around ``column``
    (in characters, from 0).
    """
    shown: list[str] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end][0] != " ":
            end += 1
        if end == at:
            shown.append(_around(lines[at][1], column, width))
            at += 1
            continue
        # Short lines between them, such as an import that was added, take no part in which belong together.
        removed, added = ([text for kind, text in lines[at:end] if kind == sign and len(text) > width] for sign in "-+")
        parting = [_parting(*pair) for pair in zip(removed, added, strict=False)]
        seen: Counter[str] = Counter()
        for kind, text in lines[at:end]:
            place = parting[seen[kind]] if len(text) > width and seen[kind] < len(parting) else 0
            seen[kind] += len(text) > width
            shown.append(_around(text, place, width))
        at = end
    return shown


def _parting(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _around(text: str, column: int, width: int) -> str:
    if len(text) <= width:
        return text
    start = max(0, min(column - width // 3, len(text) - width))
    return ("…" if start else "") + text[start : start + width] + ("…" if start + width < len(text) else "")
