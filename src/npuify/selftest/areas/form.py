"""A program that a rule wrote, and which statements of it are the rule's."""

from __future__ import annotations

import ast
import copy
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npuify.helpers import CPU_FALLBACK, STAND_INS, compute_device, helper_text
from npuify.source.python.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Form:
    """A program after a rule has changed it."""

    name: str
    """Code and style, or the case's path below ``tests/cases`` with the style."""
    before: str
    after: str
    file: str = "program.py"
    others: dict[str, str] = field(default_factory=dict)

    @property
    def is_python(self) -> bool:
        """Whether it can be run."""
        return self.file.endswith(".py")

    @property
    def digest(self) -> str:
        """Changes with what the rule writes."""
        return hashlib.sha256("\0".join([self.after, *self.others.values()]).encode()).hexdigest()[:16]

    @property
    def lines(self) -> dict[str, tuple[int, int]]:
        """The statements that the rule wrote → their first and last line in ``after``."""
        return changed_statements(self.before, self.after)

    def job(self) -> dict[str, object]:
        """What runs it is told of it."""
        files = {
            "compute_device.py": compute_device.text().decode(),
            f"{CPU_FALLBACK}.py": helper_text(CPU_FALLBACK).decode(),
            f"{STAND_INS}.py": helper_text(STAND_INS).decode(),
            **self.others,
        }
        return {"text": self.after, "lines": self.lines, "files": files}


def changed_statements(before: str, after: str) -> dict[str, tuple[int, int]]:
    """Statements of ``after`` that are not in ``before``, without what stands in their bodies."""
    known = {text for text, _ in _statements(before)}
    found: dict[str, tuple[int, int]] = {}
    for text, span in _statements(after):
        if text not in known:
            found.setdefault(text, span)
    return found


def _statements(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for node in ast.walk(parse(text)):
        if not isinstance(node, ast.stmt) or isinstance(node, ast.Pass):
            continue
        body = getattr(node, "body", None)
        if not body:
            yield ast.unparse(node), (node.lineno, node.end_lineno or node.lineno)
            continue
        head = copy.copy(node)
        for part in ("body", "orelse", "finalbody", "handlers"):
            if hasattr(head, part):
                setattr(head, part, [ast.Pass()] if part == "body" else [])
        if type(node).__name__ in ("Try", "TryStar"):
            continue  # has nothing but bodies
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        yield ast.unparse(head).rpartition("\n")[0], (first, max(first, body[0].lineno - 1))
