"""The programs that rules write, and which statements of them are theirs."""

from __future__ import annotations

import ast
import copy
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.engine.catalog import all_rules
from npuify.helpers import CPU_FALLBACK, STAND_INS, compute_device, helper_text

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[2] / "tests" / "cases"
STYLES = ("npu", "portable", "auto")


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


def documented() -> Iterator[Form]:
    """What stands under After in each rule's documentation, and what the other styles make of the same."""
    for code, rule in sorted(all_rules().items()):
        before, after = rule.example("Before"), rule.example("After")
        if before is None or after is None:
            continue
        names = re.findall(r"^With (\S+)::$", rule.documentation, re.MULTILINE)
        others = {name: rule.example(f"With {name}") or "" for name in names}
        yield Form(f"{code}/{rule.style or 'npu'}", before, after, rule.example_file, others)
        for style in STYLES[1:]:
            path = CASES / code / f"documented.{style}.out.py"
            if path.is_file():
                yield Form(f"{code}/{style}", before, path.read_text("utf-8"), rule.example_file, others)


def cases() -> Iterator[Form]:
    """What the case files hold, in each style."""
    for source in sorted(CASES.glob("*/*.in.py")):
        before = source.read_text("utf-8")
        stem = source.name.removesuffix(".in.py")
        for style in STYLES:
            path = source.with_name(f"{stem}.out.py" if style == "npu" else f"{stem}.{style}.out.py")
            if path.is_file():
                yield Form(f"{source.parent.name}/{stem}/{style}", before, path.read_text("utf-8"))


def changed_statements(before: str, after: str) -> dict[str, tuple[int, int]]:
    """Statements of ``after`` that are not in ``before``, without what stands in their bodies."""
    known = {text for text, _ in _statements(before)}
    found: dict[str, tuple[int, int]] = {}
    for text, span in _statements(after):
        if text not in known:
            found.setdefault(text, span)
    return found


def _statements(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for node in ast.walk(ast.parse(text)):
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
        if isinstance(node, (ast.Try, ast.TryStar)):
            continue  # has nothing but bodies
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        yield ast.unparse(head).rpartition("\n")[0], (first, max(first, body[0].lineno - 1))
