"""Comments that silence findings: ``# npuify: ignore`` and ``# npuify: ignore[NPU301, nccl-backend]``."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.model import Finding
    from npuify.source.text import Text

_COMMENT = re.compile(r"#\s*npuify:\s*(ignore-file|ignore)\b(?:\s*\[([^\]]*)\])?", re.IGNORECASE)


class _Comment(NamedTuple):
    line: int
    text: str
    is_alone: bool
    """Nothing but blanks stands before it on its line."""


def suppressed_codes(text: Text, tree: ast.Module | None) -> Callable[[Finding], bool] | None:
    """A test for findings that a comment silences, or None where the file has no such comment.

    A comment counts for its line and, at the end of a statement or of the head of a compound one, for all of its
    lines; ``ignore-file`` counts for the file. Codes are taken as ``--select`` takes them.

    Args:
        text: the file's text.
        tree: its tree; None where it does not parse, so that comments count for their own lines only.
    """
    if b"npuify:" not in text.data:
        return None
    lines: dict[int, list[set[str] | None]] = {}
    whole: list[set[str] | None] = []
    for comment in _comments(text.string):
        for match in _COMMENT.finditer(comment.text):
            listed = match.group(2)
            codes = {part.strip() for part in listed.split(",") if part.strip()} if listed is not None else None
            if match.group(1).lower() == "ignore-file":
                whole.append(codes)
                continue
            first = comment.line
            if tree is not None and not comment.is_alone:
                first = _first_line(tree.body, comment.line)
            for line in range(first, comment.line + 1):
                lines.setdefault(line, []).append(codes)
    if not lines and not whole:
        return None

    def silenced(finding: Finding) -> bool:
        lists = list(whole)
        for line in range(finding.start.line, finding.end.line + 1):
            lists += lines.get(line, ())
        return any(codes is None or _named(finding, codes) for codes in lists)

    return silenced


def _named(finding: Finding, codes: set[str]) -> bool:
    return any(finding.code.startswith(code.upper()) or finding.name == code for code in codes)


def _comments(text: str) -> Iterator[_Comment]:
    """The comments of a file; words that only look like one, in a string, are none."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            if token.type == tokenize.COMMENT:
                yield _Comment(token.start[0], token.string, not token.line[: token.start[1]].strip())
    except (tokenize.TokenError, SyntaxError):
        # What cannot be told apart any more: a comment said too much is better than one passed over.
        for number, line in enumerate(io.StringIO(text, newline=None), start=1):
            before, mark, after = line.partition("#")
            if mark:
                yield _Comment(number, mark + after, not before.strip())


def _first_line(body: list[ast.stmt], line: int) -> int:
    """Where the statement, or the head of a compound statement, begins that ends on ``line``; ``line`` for none."""
    while True:
        statement = next((item for item in body if item.lineno <= line <= (item.end_lineno or 0)), None)
        if statement is None:
            return line
        inner = [
            item
            for block in ("body", "orelse", "finalbody", "handlers", "cases")
            for item in getattr(statement, block, ())
        ]
        if not inner:
            return statement.lineno if statement.end_lineno == line else line
        body = []
        for item in inner:
            body += [item] if isinstance(item, ast.stmt) else item.body
        if line < body[0].lineno and not isinstance(statement, (ast.Try, ast.Match)):
            head = [child.end_lineno for child in _head(statement) if hasattr(child, "end_lineno")]
            return statement.lineno if line >= max(head, default=statement.lineno) else line


def _head(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions in the head of a compound statement."""
    for name, value in ast.iter_fields(statement):
        if name not in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.AST):
                    yield from ast.walk(item)
