"""Pieces of portable source text, and where they may stand."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.rules.common.helper_branches import helper
from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_LITERAL: Final = re.compile(r"(?P<prefix>[A-Za-z]{0,2})(?P<quote>\"\"\"|'''|\"|')(?P<text>.*)(?P=quote)", re.DOTALL)
CURRENT: Final = "torch.accelerator.current_accelerator().type"
"""The device's type where ``torch.accelerator`` is all that is needed; stands only where one is known to be there."""


def device_type(file: PythonFile) -> str:
    """The expression for the device's type."""
    return CURRENT if file.plan.pure else f"{helper(file)}.type"


REPLACED: Final = "calls of .cuda() become .to(…), so that replacing cuda has no effect: replace to as well"
"""Why a program's own ``torch.Tensor.cuda = …`` is no matter of spelling."""


def chain_span(node: ast.Attribute, file: PythonFile) -> tuple[int, int] | None:
    """Where a chain of plain names stands, parentheses in it included; None where it cannot be found.

    Found from its end, since Python before 3.12 gives no right positions inside f-strings.
    """
    text, last = dotted_text(node), file.source.attribute_span(node)
    if text is None or last is None:
        return None
    start = last[1] - len(text.encode())
    if file.source.segment(start, last[1]) == text:
        return start, last[1]
    start = file.source.start(node)  # (torch).cuda
    written = file.source.segment(start, last[1])
    if in_formatted_string(node, file) or re.sub(r"[\s()\\]", "", written) != text:
        return None  # a comment stands in it
    return start, last[1]


def literal(node: ast.expr, file: PythonFile) -> re.Match[str] | None:
    """The source of a string that is one plain literal: prefix, quote and text; None for any other."""
    match = _LITERAL.fullmatch(file.code(node))
    if match is None or match["quote"] in match["text"].replace(f"\\{match['quote']}", ""):
        return None
    return match if match["prefix"].lower() in ("", "f", "r", "u") else None


def formatted(match: re.Match[str], text: str) -> str:
    """``text``, which holds a replacement field, as an f-string with the quotes of a literal."""
    raw = "r" if "r" in match["prefix"].lower() else ""
    return f"f{raw}{match['quote']}{text}{match['quote']}"


def in_formatted_string(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` stands inside the braces of an f-string."""
    return any(isinstance(up, ast.JoinedStr) for up in file.ancestors(node))


def in_annotation(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` is part of an annotation, where only what can be known without running counts."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, ast.arg) and current is up.annotation:
            return True
        if isinstance(up, ast.AnnAssign):
            return current is up.annotation
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return current is up.returns
        if isinstance(up, ast.stmt):
            return False
        current = up
    return False
