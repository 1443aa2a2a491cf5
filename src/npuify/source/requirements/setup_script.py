"""setup.py: the literal strings of ``install_requires`` and ``extras_require``."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from npuify.source.requirements.entry import Document, Entry, UnreadableRequirements
from npuify.source.requirements.items import quoted_item

if TYPE_CHECKING:
    from collections.abc import Iterator

_WANTED = {"install_requires": True, "extras_require": False, "tests_require": False}
_LISTS = (ast.List, ast.Tuple, ast.Set)


def read(text: str) -> Document:
    """The requirements that a setup.py holds as literals.

    Followed are a keyword's own lists, and the lists that are given to, added to or put under a key of the variable
    that the keyword names. Nothing is executed.
    """
    data = text.encode("latin-1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data.decode("utf-8", "surrogatepass"))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UnreadableRequirements(f"cannot be parsed: {error}", getattr(error, "lineno", 0) or 0) from None
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    entries: dict[int, Entry] = {}
    for keyword, source in _lists(tree):
        for item in source.elts:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                start = starts[item.lineno - 1] + item.col_offset
                end = starts[(item.end_lineno or item.lineno) - 1] + (item.end_col_offset or 0)
                group = f"{keyword} of line {source.lineno}"
                entry = quoted_item(text, start, end, group, is_main=_WANTED[keyword])
                if entry is not None:
                    entries.setdefault(start, entry)
    return Document(text, [entries[start] for start in sorted(entries)])


def _lists(tree: ast.Module) -> Iterator[tuple[str, ast.List | ast.Tuple | ast.Set]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in _WANTED:
                    for name in _names(keyword.value):
                        for found in _given_to(tree, name):
                            yield keyword.arg, found
                    for found in _literals(keyword.value):
                        yield keyword.arg, found


def _literals(node: ast.AST) -> Iterator[ast.List | ast.Tuple | ast.Set]:
    for inner in ast.walk(node):
        if isinstance(inner, _LISTS):
            yield inner


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id


def _given_to(tree: ast.Module, name: str) -> Iterator[ast.List | ast.Tuple | ast.Set]:
    """The lists that ``name = …``, ``name += …``, ``name["key"] = …`` and ``name.extend(…)`` hold."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "extend":
            targets = [node.func.value]
        for target in targets:
            base = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(base, ast.Name) and base.id == name:
                value = node.args[0] if isinstance(node, ast.Call) and node.args else getattr(node, "value", None)
                if value is not None:
                    yield from _literals(value)
