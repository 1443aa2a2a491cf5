"""Edits of a call's arguments."""

from __future__ import annotations

import ast
import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import Edit
    from npuify.rules.context import PythonFile


def add_argument(call: ast.Call, text: str, file: PythonFile) -> Edit:
    """Put one more argument at the end of a call, whatever comments and commas stand there."""
    return add_arguments(call, (text,), file)


def add_arguments(call: ast.Call, texts: Sequence[str], file: PythonFile) -> Edit:
    """As :func:`add_argument`; where each argument of the call has a line of its own, so have the new ones."""
    end = file.source.end(call) - 1
    text = _between_lines(call, file).join(texts)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not given:
        return file.edit(end, end, text)
    last = max(file.source.end(value) for value in given)
    between = re.sub(r"#[^\n]*", "", file.source.segment(last, end)).strip()
    if between in ("", ","):
        separator = _between_lines(call, file)
        behind = file.source.segment(last, end).splitlines()[0] if end > last else ""
        code, _, comment = behind.partition("#")
        if comment and separator != ", " and code.strip() == between:
            # The comment is about the argument that it stands behind.
            line = behind if between else f",{behind}"
            return file.edit(last, last + len(behind.encode()), f"{line}{separator.removeprefix(',')}{text}{between}")
        return file.edit(last, last, f"{separator}{text}")
    return file.edit(end, end, text if between.endswith(",") else f", {text}")


def _between_lines(call: ast.Call, file: PythonFile) -> str:
    """What stands between two arguments of a call: a comma, with a line break where each has a line of its own."""
    every: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    given = sorted(every, key=lambda one: (one.lineno, one.col_offset))
    lines = [one.lineno for one in given]
    if (
        len(given) < 2
        or len(set(lines)) < len(lines)
        or call.func.end_lineno == lines[0]
        or any(before.end_lineno == after.lineno for before, after in itertools.pairwise(given))
    ):
        return ", "
    starts = file.source.text.line_starts
    begin = starts[lines[-1] - 1]
    indent = file.source.segment(begin, file.source.start(given[-1]))
    if indent.strip() or call.end_lineno == given[-1].end_lineno:
        return ", "
    return f",{file.source.text.newline}{indent}"


def wrap(node: ast.expr, before: str, after: str, file: PythonFile) -> list[Edit]:
    """Put text around an expression, which stays as it is, with its comments."""
    start, end = file.source.start(node), file.source.end(node)
    return [file.edit(start, start, before), file.edit(end, end, after)]


def has_unknown_arguments(call: ast.Call) -> bool:
    """Whether a call passes arguments on that are not written there: ``*args`` or ``**kwargs``."""
    return any(isinstance(arg, ast.Starred) for arg in call.args) or any(one.arg is None for one in call.keywords)


def without_keyword(call: ast.Call, keyword: ast.keyword, file: PythonFile) -> Edit | None:
    """Take a keyword out of a call, with the comma that goes with it; None where a comment stands between."""
    others = [*call.args, *call.keywords]
    before = [one for one in others if file.source.end(one) <= file.source.start(keyword)]
    after = [one for one in others if file.source.start(one) >= file.source.end(keyword)]
    if after:
        start, end = file.source.start(keyword), min(file.source.start(one) for one in after)
        between = file.source.segment(file.source.end(keyword), end)
    else:
        start = max((file.source.end(one) for one in before), default=file.source.start(keyword))
        end = file.source.end(keyword)
        between = file.source.segment(start, file.source.start(keyword)) if before else ""
    return None if "#" in between else file.edit(start, end, "")
