"""The list of all edits as CSV, for spreadsheets."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.model import Change

COLUMNS = ("file", "start_line", "end_line", "code", "before", "after")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "|", "%")


def changes_csv(changes: Iterable[Change]) -> str:
    """One row an edit: the lines are those of the original file, ``before`` and ``after`` the texts."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for change in changes:
        row = (change.file, change.start.line, change.end.line, change.code, change.before, change.after)
        writer.writerow([defused(value) if isinstance(value, str) else value for value in row])
    return stream.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def defused(cell: str) -> str:
    """``cell`` with an apostrophe before what a spreadsheet would take for a formula and run."""
    return "'" + cell if cell.lstrip(" ").startswith(_FORMULA) else cell
