"""setup.py: the literal strings of ``install_requires`` and ``extras_require``, in lists and in texts of many."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase
from npuify.source.requirements.entry import Document, Entry, UnreadableRequirements
from npuify.source.requirements.items import items_of_text, quoted_item

if TYPE_CHECKING:
    from collections.abc import Iterator

_WANTED = {"install_requires": True, "extras_require": False, "tests_require": False}
_LISTS = (ast.List, ast.Tuple, ast.Set)
_SPLIT = ("split", "splitlines")
_LOOKED_UP = (ast.Subscript, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Found(NamedTuple):
    """A list of requirements.

    Attributes:
        table: it is looked up by name, so that a name in it is a key, and an item is asked for by nobody.
        alone: it is the argument of ``append``, beside which no other can stand.
        text: the one item is a text of many: each in a line ("lines"), or with blanks between them ("words").
    """

    items: tuple[ast.expr, ...]
    line: int
    table: bool
    alone: bool
    text: str = ""


def read(text: str) -> Document:
    """The requirements that a setup.py holds as literals.

    Followed are a keyword's own lists, and those that reach it through variables, tables and functions of the file.
    Nothing is executed.
    """
    data = text.encode("latin-1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data.decode("utf-8", "surrogatepass"))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UnreadableRequirements(
            phrase("cannot be parsed: {error}", error=error), getattr(error, "lineno", 0) or 0
        ) from None
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    entries: dict[int, Entry] = {}
    for keyword, found in _lists(tree):
        for item in found.items:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                start = starts[item.lineno - 1] + item.col_offset
                end = starts[(item.end_lineno or item.lineno) - 1] + (item.end_col_offset or 0)
                group = phrase("{keyword} of line {line}", keyword=keyword, line=found.line)
                if found.text:
                    for one in items_of_text(text, start, end, group, words=found.text == "words"):
                        entries.setdefault(one.start, one._replace(is_main=_WANTED[keyword]))
                    continue
                entry = quoted_item(text, start, end, group, is_main=_WANTED[keyword])
                if entry is not None and found.table:
                    entry = entry._replace(following=None, removal=None, name_span=None, version_span=None)
                elif entry is not None and found.alone:
                    entry = entry._replace(following=None, removal=None)
                if entry is not None:
                    entries.setdefault(start, entry)
    return Document(text, [entries[start] for start in sorted(entries)])


def _lists(tree: ast.Module) -> Iterator[tuple[str, _Found]]:
    values: list[tuple[str, ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            values += [(item.arg, item.value) for item in node.keywords if item.arg in _WANTED]
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value in _WANTED:
                    values.append((key.value, value))
    for keyword, value in values:
        for found in _reaching(value, tree):
            yield keyword, found


def _reaching(value: ast.expr, tree: ast.Module) -> Iterator[_Found]:
    """The lists that reach an expression, through the variables and functions that it names, each once."""
    yield from _literals(value, table=False)
    pending = list(_names(value, table=False))
    seen: set[str] = set()
    while pending:
        name, table = pending.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for given, alone in _given_to(tree, name):
            if alone and isinstance(given, ast.Constant):
                yield _Found((given,), given.lineno, table, alone)
            yield from _literals(given, table=table)
            pending += _names(given, table=table)


def _literals(node: ast.AST, *, table: bool) -> Iterator[_Found]:
    """The lists of an expression, but for what is compared, and the texts that it splits into lists."""
    if isinstance(node, ast.Compare):
        return
    split = _split(node)
    if split is not None:
        yield split._replace(table=table)
        return
    if isinstance(node, _LISTS):
        yield _Found(tuple(node.elts), node.lineno, table, alone=False)
    for inner in ast.iter_child_nodes(node):
        yield from _literals(inner, table=table or isinstance(node, _LOOKED_UP))


def _split(node: ast.AST) -> _Found | None:
    """``\"\"\"torch\\nxformers\"\"\".split()``, and the like."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _SPLIT:
        return None
    holder, given = node.func.value, node.args[0] if node.args else None
    while isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute) and holder.func.attr == "strip":
        holder = holder.func.value
    if not isinstance(holder, ast.Constant) or not isinstance(holder.value, str):
        return None
    at = given.value if isinstance(given, ast.Constant) else None
    words = node.func.attr == "split" and (given is None or at == " ")
    if not words and node.func.attr == "split" and at != "\n":
        return None
    return _Found((holder,), holder.lineno, table=False, alone=False, text="words" if words else "lines")


def _names(node: ast.AST, *, table: bool) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Name):
        yield node.id, table
    for inner in ast.iter_child_nodes(node):
        yield from _names(inner, table=table or isinstance(node, _LOOKED_UP))


def _given_to(tree: ast.AST, name: str) -> Iterator[tuple[ast.expr, bool]]:
    """What a variable holds (``n = …``, ``n += …``, ``n["key"] = …``, ``n.append(…)``), or a function returns.

    With each whether it is one item.
    """
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        alone = False
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in ("extend", "append"):
                targets, value, alone = [node.func.value], node.args[0], node.func.attr == "append"
        elif isinstance(node, ast.FunctionDef) and node.name == name:
            yield from ((one.value, False) for one in ast.walk(node) if isinstance(one, ast.Return) and one.value)
        for target in targets:
            base = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(base, ast.Name) and base.id == name and value is not None:
                yield value, alone
