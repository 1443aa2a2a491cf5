"""Taking arguments, entries and members out of calls, dictionaries and lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from npuify.model import Edit
    from npuify.rules.context import PythonFile

_BETWEEN = re.compile(rb"[\s)]*(?P<comma>,)\s*")
_AFTER = re.compile(rb"\s*,\s*")
_REST_OF_LINE = re.compile(rb"[ \t]*,[ \t]*(?:\r\n?|\n)")


def without_argument(arguments: Sequence[ast.AST], at: int, file: PythonFile) -> Edit | None:
    """Takes an argument out of a call: its line, or it with the comma before it, or after it where it is the first."""
    node = arguments[at]
    before = file.source.end(arguments[at - 1]) if at else None
    return taken_out(file.source.start(node), file.source.end(node), before, file)


def without_entry(table: ast.Dict, at: int, file: PythonFile) -> Edit | None:
    key = table.keys[at]
    before = file.source.end(table.values[at - 1]) if at else None
    return taken_out(file.source.start(key), file.source.end(table.values[at]), before, file) if key else None


def taken_out(start: int, end: int, before: int | None, file: PythonFile) -> Edit | None:
    """The edit that takes out what stands between two offsets; None where a comment would go with it.

    Args:
        start, end: of an argument or entry.
        before: where the one before it ends; None for the first.
        file: where it stands.
    """
    data = file.source.data
    line = max(data.rfind(b"\n", 0, start), data.rfind(b"\r", 0, start)) + 1
    whole = _REST_OF_LINE.match(data, end)
    if whole is not None and not data[line:start].strip():
        return file.edit(line, whole.end(), "")
    if before is not None:
        match = _BETWEEN.fullmatch(data, before, start)
        return file.edit(match.start("comma"), end, "") if match is not None else None
    after = _AFTER.match(data, end)
    return file.edit(start, after.end() if after is not None else end, "")
