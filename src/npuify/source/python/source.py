"""A Python file: its tree, nodes and names, and where in the text they stand."""

from __future__ import annotations

import ast
import sys

from npuify.source.python.f_strings import attribute_end
from npuify.source.python.names import PythonNames

_GUESSES = sys.version_info < (3, 12)
"""Whether Python gives positions inside f-strings that may be wrong."""


class PythonSource(PythonNames):
    """One Python file.

    Args:
        relative: path in the project, with forward slashes.
        module: its dotted module name in the project.
        raw: the file's bytes, or its text where that was made already.
        words: top-level functions and classes that hold none of them, in any case, are parsed only when something asks
            for them. None parses the whole file.
        reexport: follows a qualified name that belongs to another module of the project; None where nothing is known.
        star_has: whether a known library or a module of the project has a qualified name, for star imports. Without
            these two, nothing is known of other files.

    Raises:
        UnreadableText: it cannot be decoded.
        SyntaxError: the running Python cannot parse it (``MemoryError`` and ``RecursionError`` are turned into this).
    """

    def start(self, node: ast.AST) -> int:
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        start: int = self.text.line_starts[line - 1] + column
        return start

    def end(self, node: ast.AST) -> int:
        line, column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        start: int = self.text.line_starts[line - 1] + column
        return start

    def segment(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")

    def code(self, node: ast.AST) -> str:
        """The source text of a node."""
        return self.segment(self.start(node), self.end(node))

    def attribute_span(self, node: ast.Attribute) -> tuple[int, int] | None:
        """Where the attribute's own name stands (``cuda`` of ``torch.cuda``), or None where it cannot be found.

        Inside f-strings Python before 3.12 gives positions that may be wrong; there the text is searched.
        """
        word = node.attr.encode()
        end = self.end(node)
        if self.data[end - len(word) : end] == word and not (_GUESSES and self._f_string_around(node)):
            return end - len(word), end
        literal = self._f_string_around(node)
        if literal is None:
            return None
        begin = self.start(literal)
        found = attribute_end(node, literal, self.data[begin : self.end(literal)])
        return (begin + found - len(word), begin + found) if found is not None else None

    def _f_string_around(self, node: ast.AST) -> ast.JoinedStr | None:
        """The outermost f-string around a node."""
        outer = None
        for up in self.ancestors(node):
            if isinstance(up, ast.JoinedStr):
                outer = up
        return outer
