"""Edits of whole statements: put before, put after, indent, replace; each as spans on the file's bytes."""

from __future__ import annotations

import ast
from itertools import groupby
from typing import TYPE_CHECKING

from npuify.distribute.codes import CODES, EVIDENCE, PYTORCH
from npuify.language import phrase
from npuify.model import Edit, Finding, Position, Safety, Severity
from npuify.rewrite.edits import apply_edits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from npuify.distribute.reading.program import Unit


class Unprovable(Exception):
    """An edit that cannot be proven right; ``node`` is where, the message is what a person has to do."""

    def __init__(self, node: ast.AST, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


class Editor:
    """Makes the edits of one file.

    Raises:
        Unprovable: a statement shares its line with others, so that nothing can be put beside it.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.source = unit.source
        self.newline = unit.source.text.newline
        self.starts = unit.source.text.line_starts
        self.guarded: list[ast.stmt] = []
        self.below: set[tuple[int, str]] = set()
        """What is put below a statement, and so above all that is put before the next one."""

    def replace(self, node: ast.AST, text: str) -> Edit:
        start, end = self.source.start(node), self.source.end(node)
        return Edit(start, end, self.source.segment(start, end), text)

    def remove(self, start: int, end: int) -> Edit:
        return Edit(start, end, self.source.segment(start, end), "")

    def insert(self, offset: int, text: str) -> Edit:
        return Edit(offset, offset, "", text)

    def around(self, node: ast.AST, head: str, tail: str = ")") -> list[Edit]:
        """Put ``head`` before an expression and ``tail`` after it."""
        return [self.insert(self.source.start(node), head), self.insert(self.source.end(node), tail)]

    def before(self, statement: ast.stmt, *lines: str) -> Edit:
        """New lines above a statement and the comments that belong to it."""
        self._alone(statement)
        line = self._first_line(statement)
        while line > 1:
            above = self._line(line - 1)
            if not above.strip().startswith("#") or self._indent_of(above) != self.indent(statement):
                break
            line -= 1
        return self.insert(self.starts[line - 1], self._lines(self.indent(statement), lines))

    def directly_before(self, statement: ast.stmt, *lines: str) -> Edit:
        self._alone(statement)
        line = self._first_line(statement)
        return self.insert(self.starts[line - 1], self._lines(self.indent(statement), lines))

    def after(self, statement: ast.stmt, *lines: str) -> Edit:
        """New lines below a statement."""
        self._alone(statement)
        last = statement.end_lineno or statement.lineno
        text = self._lines(self.indent(statement), lines)
        place = self.starts[last] if last < len(self.starts) else len(self.source.data)
        if last >= len(self.starts):
            text = self.newline + text.rstrip("\r\n") + self.newline
        self.below.add((place, text))
        return self.insert(place, text)

    def first_in(self, body: list[ast.stmt], *lines: str) -> Edit:
        """New lines at the beginning of a block, after its docstring."""
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            return self.after(first, *lines)
        return self.before(first, *lines)

    def under(self, first: ast.stmt, last: ast.stmt, head: str) -> list[Edit]:
        """Put statements that follow each other under ``head`` (``if …:`` or ``with …:``)."""
        self._alone(first)
        self._alone(last)
        indent, step = self.indent(first), self._step()
        begin = self._first_line(first)
        # In one piece, so that lines which are put before the first statement stay outside.
        edits = [self.insert(self.starts[begin - 1], f"{indent}{head}{self.newline}{step}")]
        inside = self._lines_inside_strings(first, last)
        for line in range(begin + 1, (last.end_lineno or last.lineno) + 1):
            if line not in inside and self._line(line).strip():
                edits.append(self.insert(self.starts[line - 1], step))
        return edits

    def delete(self, statement: ast.stmt) -> Edit:
        self._alone(statement)
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        start = self.starts[first - 1]
        end = self.starts[last] if last < len(self.starts) else len(self.source.data)
        return Edit(start, end, self.source.segment(start, end), "")

    def argument(self, call: ast.Call, text: str) -> Edit:
        """One more argument at the end of a call."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if not given:
            return self.insert(self.source.end(call) - 1, text)
        last = max(given, key=self.source.end)
        end = self.source.end(last)
        stop = self.source.end(call) - 1
        rest = self.source.segment(end, stop)
        if isinstance(last, ast.GeneratorExp) and len(given) == 1:
            raise Unprovable(call, phrase("add the argument {text}", text=text))
        # Parentheses around the last argument, a comma and comments may follow it.
        closing = 0
        for place, letter in enumerate(rest):
            if letter == "#":
                break
            if letter == ")":
                closing = place + 1
            elif letter == ",":
                return self.insert(end + len(rest[: place + 1].encode()), f" {text},")
            elif not letter.isspace() and letter != "\\":
                raise Unprovable(call, phrase("add the argument {text}", text=text))
        return self.insert(end + len(rest[:closing].encode()), f", {text}")

    def indent(self, statement: ast.stmt) -> str:
        return self._indent_of(self._line(statement.lineno))

    def _step(self) -> str:
        for node in self.unit.nodes:
            if isinstance(node, (ast.FunctionDef, ast.For, ast.If, ast.With, ast.ClassDef)):
                inner, outer = self.indent(node.body[0]), self.indent(node)
                if inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer) :]
        return "    "

    def _lines(self, indent: str, lines: Iterable[str]) -> str:
        return "".join(f"{indent}{line}{self.newline}" for line in lines)

    def _line(self, number: int) -> str:
        end = self.starts[number] if number < len(self.starts) else len(self.source.data)
        return self.source.segment(self.starts[number - 1], end)

    def _indent_of(self, line: str) -> str:
        return line[: len(line) - len(line.lstrip())]

    def _first_line(self, statement: ast.stmt) -> int:
        decorators = getattr(statement, "decorator_list", None)
        return min(statement.lineno, decorators[0].lineno) if decorators else statement.lineno

    def _alone(self, statement: ast.stmt) -> None:
        before = self._line(statement.lineno).encode()[: statement.col_offset]
        last = statement.end_lineno or statement.lineno
        rest = self._line(last).encode()[statement.end_col_offset or 0 :].strip()
        if before.strip() or (rest and not rest.startswith(b"#")):
            raise Unprovable(statement, "put each statement on its own line here, and convert again")

    def _lines_inside_strings(self, first: ast.stmt, last: ast.stmt) -> set[int]:
        inside: set[int] = set()
        end = last.end_lineno or last.lineno
        for node in self.unit.nodes:
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and first.lineno <= node.lineno <= end:
                if isinstance(node, ast.JoinedStr) or isinstance(node.value, (str, bytes)):
                    text = self.unit.source.code(node)
                    if '"""' in text or "'''" in text:
                        inside.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
        return inside


class Draft:
    """The findings of a conversion, over all files, and the edits that are made with them."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._editors: dict[Unit, Editor] = {}
        self.said: set[tuple[str, str, str, str]] = set()
        self.uses_helper: set[Unit] = set()
        self.together: list[ast.AST] = []
        """What all processes have to come by, so that none of it may stand under ``if is_main()``."""
        self.meeting: set[ast.AST] = set()
        """The functions that such things stand in."""

    def meet(self, unit: Unit, node: ast.AST) -> None:
        """Note something that all processes have to come by."""
        self.together.append(node)
        self.meeting.add(unit.function_around(node))

    def forget(self) -> None:
        """Drop all findings."""
        self.findings.clear()
        self.said.clear()

    def editor(self, unit: Unit) -> Editor:
        if unit not in self._editors:
            self._editors[unit] = Editor(unit)
        return self._editors[unit]

    def done(
        self,
        code: str,
        unit: Unit,
        node: ast.AST,
        message: str,
        edits: Iterable[Edit],
        subject: str = "",
        *,
        helper: bool = True,
    ) -> None:
        """Something that is edited; ``helper`` says whether the new text uses the helper module."""
        self._say(code, unit, node, message, subject, "", Severity.INFO, Safety.SAFE, tuple(edits))
        if helper:
            self.uses_helper.add(unit)

    def left(
        self, code: str, unit: Unit, node: ast.AST, message: str, advice: str, severity: Severity | None = None
    ) -> None:
        """Something that a person has to do, or to know."""
        said = severity or CODES[code].severity
        self._say(code, unit, node, message, "", advice, said, Safety.MANUAL, ())

    def _say(
        self,
        code: str,
        unit: Unit,
        node: ast.AST,
        message: str,
        subject: str,
        advice: str,
        severity: Severity,
        safety: Safety,
        edits: tuple[Edit, ...],
    ) -> None:
        line, column = (1, 1) if isinstance(node, ast.Module) else unit.source.text.position(unit.source.start(node))
        end = (1, 1) if isinstance(node, ast.Module) else unit.source.text.position(unit.source.end(node))
        key = (code, unit.relative, f"{line}:{column}", message)
        if key in self.said:
            return
        self.said.add(key)
        self.findings.append(
            Finding(
                code=code,
                name=CODES[code].name,
                severity=severity,
                safety=safety,
                file=unit.relative,
                start=Position(line, column),
                end=Position(*end),
                message=phrase(message),
                evidence=EVIDENCE,
                source=CODES[code].source or PYTORCH,
                subject=subject,
                advice=phrase(advice),
                edits=edits,
            )
        )

    def text_of(self, unit: Unit) -> bytes | None:
        """A file with its edits, in its own encoding; None where it has none."""
        edits = [edit for finding in self.findings if finding.file == unit.relative for edit in finding.edits]
        if not edits:
            return None
        return unit.source.text.encode(apply_edits(unit.source.data, merged(edits, self.editor(unit).below)))


def merged(edits: Iterable[Edit], below: Collection[tuple[int, str]] = ()) -> list[Edit]:
    """Edits in order, those that are put in at one place made one.

    What goes ``below`` the line above comes first, the deepest block before the others, then whole lines, then what
    goes into the line.
    """

    def order(edit: Edit) -> tuple[int, int]:
        text = edit.after.lstrip("\r\n")
        if (edit.start, edit.after) in below:
            return 0, len(text.lstrip()) - len(text)
        return (1 if edit.after.endswith("\n") else 2), 0

    found: list[Edit] = []
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    for (start, end), group in groupby(ordered, key=lambda edit: (edit.start, edit.end)):
        texts = list(group)
        if start == end:
            texts.sort(key=order)
            found.append(Edit(start, end, "", "".join(edit.after for edit in texts)))
        else:
            found.append(texts[0])
    return found
