"""The tree of a Python file; functions and classes without a word of interest are parsed only when asked for."""

from __future__ import annotations

import ast
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from npuify.source.python.lines import Lines
from npuify.source.python.outline import Outline, Part
from npuify.source.python.parse import parse
from npuify.source.python.scopes import Scope, ScopeNode
from npuify.source.text import Text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from npuify.words import Words


class _Parsed(NamedTuple):
    """A tree, and what of the text is not in it."""

    tree: ast.Module
    skipped: Sequence[Part] = ()
    lines: Container[int] = ()
    """Lines that surely are in no part that was skipped."""


class PythonModule:
    """A Python file's text with its tree and the scope of its module.

    For arguments and errors see :class:`npuify.source.python.PythonSource`.
    """

    def __init__(self, relative: str, module: str, raw: bytes | Text, words: Words | None = None) -> None:
        self.relative = relative
        self.module = module
        self.text = raw if isinstance(raw, Text) else Text(raw)
        self.data = self.text.data
        outline = self.outline = Outline(self.data)
        """Tells code from comments and prose."""
        self._lines = Lines(self.text, outline)
        parsed = (
            _Parsed(parse(self.text.string))
            if words is None
            else _parse_for(self.text, outline, self._lines.with_words(words), words)
        )
        self.tree = parsed.tree
        self._skipped = list(parsed.skipped)
        self.parsed = len(self.data) - sum(part.end - part.start for part in parsed.skipped)
        """Bytes of the text that were parsed so far."""
        self._parsed_lines = parsed.lines
        self.tree.is_package = relative.rpartition("/")[2] == "__init__.py"  # type: ignore[attr-defined]
        if self.tree.body or self._skipped:
            self.tree.walrus_lines = self._lines.with_walrus()  # type: ignore[attr-defined]
            self.tree.global_lines = self._lines.with_global()  # type: ignore[attr-defined]
        self.scope = Scope(self.tree, None, module)
        for part in self._skipped:
            if not part.owner:
                self.scope.hidden.setdefault(part.name, []).append("class" if part.is_class else "function")

    def lines_with_names(self, names: Iterable[str]) -> set[int]:
        """The lines, from 1, on which one of these identifiers stands."""
        return self._lines.with_names(names)

    def lines_with_words(self, words: Words) -> set[int]:
        """The lines, from 1, that hold one of the words in any case, comments and prose left out."""
        return set(self._lines.with_words(words))

    # --- what was skipped ---

    def has_method(self, node: ast.ClassDef, name: str) -> bool:
        """Whether a class defines a method of that name, also where it was skipped."""
        return any(isinstance(item, ast.FunctionDef) and item.name == name for item in node.body) or any(
            part.owner == node.name and part.name == name and not part.is_class for part in self._skipped
        )

    def methods_revealed(self, node: ast.ClassDef) -> None:
        """Parse the methods of a class that were skipped."""
        for part in [part for part in self._skipped if part.owner == node.name]:
            self._parse_part(part)

    def definition(self, name: str) -> ast.AST | None:
        """The only function or class that the module binds to ``name``, parsed if it was not yet; None for others."""
        bindings = self.scope.names.get(name, ())
        if len(bindings) == 1 and bindings[0].kind in ("function", "class"):
            if name in self.scope.hidden:
                for part in [part for part in self._skipped if part.name == name and not part.owner]:
                    self._parse_part(part)
                bindings = self.scope.names.get(name, ())
            return bindings[0].node if len(bindings) == 1 and isinstance(bindings[0].node, ScopeNode) else None
        return None

    def defines_class(self, name: str) -> bool:
        """Whether a class is all that the module binds to ``name``; nothing is parsed for it."""
        return [binding.kind for binding in self.scope.names.get(name, ())] == ["class"]

    def _parse_lines(self, ordered: Sequence[int]) -> None:
        """Parse what was skipped and holds one of these lines, which are in order."""
        if not self._skipped or all(line in self._parsed_lines for line in ordered):
            return
        starts = self.text.line_starts
        offsets = [starts[line - 1] for line in ordered if line <= len(starts)]
        # Parts begin and end where lines do.
        for part in [part for part in self._skipped if _has_one_of(part, offsets)]:
            self._parse_part(part)

    def _parse_part(self, part: Part) -> None:
        """Put a part into the tree that was skipped; one that does not parse by itself stays out."""
        line = self.text.line_of(part.start)
        text = self.data[part.start : part.end].decode("utf-8", "surrogatepass")
        self._skipped.remove(part)
        self.parsed += part.end - part.start
        try:
            if not part.owner:
                statements = parse("\n" * (line - 1) + text).body
                holder: ast.Module | ast.ClassDef | None = self.tree
            else:
                around = parse("\n" * (line - 2) + "class _:\n" + text).body[0]
                statements = around.body if isinstance(around, ast.ClassDef) else []
                holder = self._class_at(line)
        except SyntaxError:
            return
        if holder is None:
            return
        place = next((index for index, item in enumerate(holder.body) if item.lineno > line), len(holder.body))
        holder.body[place:place] = statements
        if isinstance(holder, ast.ClassDef):
            last = statements[-1]
            if (last.end_lineno or line) > (holder.end_lineno or 0):
                holder.end_lineno, holder.end_col_offset = last.end_lineno, last.end_col_offset
        else:
            self.scope.reveal(statements)

    def _class_at(self, line: int) -> ast.ClassDef | None:
        """The top-level class that a line belongs to, also where its last methods are still skipped."""
        before = [item for item in self.tree.body if item.lineno <= line]
        return before[-1] if before and isinstance(before[-1], ast.ClassDef) else None


def _has_one_of(part: Part, offsets: Sequence[int]) -> bool:
    """Whether one of these offsets, which are in order, lies in a part."""
    index = bisect_left(offsets, part.start)
    return index < len(offsets) and offsets[index] < part.end


def _parse_for(text: Text, outline: Outline, lines: dict[int, int], words: Words) -> _Parsed:
    """The tree of a file without the functions and classes in which none of the words stands.

    Args:
        text: the file's text.
        outline: its functions and classes.
        lines: those that hold one of the words, each with the offset of its start.
        words: the words; without any, all functions and classes are skipped.
    """
    if words.words and not lines:
        return _Parsed(ast.Module([], []))
    # A match is known by its line's start; a part begins and ends at line starts.
    skipped, emptied = _without_matches(outline, sorted(lines.values()))
    if not skipped:
        return _Parsed(parse(text.string))
    data, pieces, position = text.data, [], 0
    for part in skipped:
        body = part.indent + b"pass" if part.start in emptied else b""
        pieces += [data[position : part.start], body, b"\n" * data.count(b"\n", part.start, part.end)]
        position = part.end
    pieces.append(data[position:])
    try:
        tree = parse(b"".join(pieces).decode("utf-8", "surrogatepass"))
    except SyntaxError:
        # The file is broken, or what was cut is; the whole file decides.
        return _Parsed(parse(text.string))
    return _Parsed(tree, skipped, lines)


def _without_matches(outline: Outline, matches: Sequence[int]) -> tuple[list[Part], set[int]]:
    """The parts that can be skipped, in their order, and the starts of those without which a class would be empty.

    Args:
        outline: the file's functions and classes.
        matches: offsets that must not be skipped, in order.
    """

    def skippable(part: Part) -> Part | None:
        # What follows a part at its level stays, and what it declares global is seen.
        first = bisect_left(matches, part.start)
        match = matches[first] if first < len(matches) else part.end
        if match == part.start:
            return None
        body = outline.body(part)
        return None if match < body.end or outline.has_global(body) else body

    skipped: list[Part] = []
    emptied = set()
    for part in outline.top_level():
        whole = skippable(part)
        if whole is not None:
            skipped.append(whole)
        elif part.is_class:
            methods = outline.methods(part)
            bodies = [body for body in map(skippable, methods) if body is not None]
            skipped += bodies
            if bodies and len(bodies) == len(methods):
                emptied.add(bodies[0].start)
    return skipped, emptied
