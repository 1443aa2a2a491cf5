"""Python's own parser, with one kind of failure."""

from __future__ import annotations

import ast
import re
from typing import Final

from npuify.source.parser_warnings import without_warnings

_LONG: Final = 500_000
"""Characters of a text that is parsed piece by piece."""
_BEGINS: Final = re.compile(r"\n(?=(?!(?:el(?:se|if)|except|finally)\b)[A-Za-z_])")
"""The end of a line behind which a statement may begin that stands in nothing else."""

STANDS_FOR_ASYNC: Final = "Async"
"""The name of an argument ``async`` in a tree: a keyword of Python since 3.7, as long as it, so that places stay."""
_TRANSFERS: Final = frozenset(("cuda", "to", "copy_", "type"))
_ASYNC: Final = re.compile(r"(?<=[(,\s])async(?=\s*=\s*(?:True|False|[\w.]+)\s*[,)])")


def parse(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        SyntaxError: the running Python cannot parse it, for whatever reason.
    """
    # Where lines also end with a carriage return alone, they are not as easily counted.
    return _parse(text) if len(text) < _LONG or "\r" in text else _parse_long(text)


def _parse_long(text: str) -> ast.Module:
    """The tree of a long text, for which the parser itself would take as much memory again as the tree does.

    What parses by itself up to a line's beginning ends there: in no string, no brackets, and no block that goes on.
    """
    body: list[ast.stmt] = []
    start, line, size = 0, 0, _LONG // 2
    while start < len(text):
        cut = _BEGINS.search(text, start + size) if start + size < len(text) else None
        end = cut.end() if cut is not None else len(text)
        try:
            body += _parse("\n" * line + text[start:end]).body
        except SyntaxError:
            if cut is None:
                # What is wrong, and where, the whole text tells.
                return _parse(text)
            size *= 2
            continue
        line += text.count("\n", start, end)
        start, size = end, _LONG // 2
    return ast.Module(body, [])


def _parse(text: str) -> ast.Module:
    try:
        return _parse_now(text)
    except SyntaxError:
        # Where only the old name of an argument is in the way, all the rest is known.
        if "async" not in text:
            raise
        renamed = _ASYNC.sub(STANDS_FOR_ASYNC, text)
        if renamed == text:
            raise
        try:
            tree = _parse_now(renamed)
        except SyntaxError:
            tree = None
        if tree is not None and _is_torch_argument(tree):
            return tree
        raise


def _is_torch_argument(tree: ast.Module) -> bool:
    """Whether what was renamed is an argument of methods of PyTorch, everywhere: another name is the project's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(keyword.arg == STANDS_FOR_ASYNC for keyword in node.keywords):
            if not isinstance(node.func, ast.Attribute) or node.func.attr not in _TRANSFERS:
                return False
        elif isinstance(node, ast.arg) and node.arg == STANDS_FOR_ASYNC:
            return False
    return True


def _parse_now(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:
        raise
    except (ValueError, UnicodeError) as error:
        raise SyntaxError(str(error)) from None
    except (MemoryError, RecursionError):
        raise SyntaxError("nested too deeply for the Python parser") from None


def parses(data: bytes) -> bool:
    """Whether UTF-8 text is Python of which there is a tree."""
    with without_warnings():
        try:
            _parse(data.decode("utf-8", "surrogatepass"))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return False
    return True
