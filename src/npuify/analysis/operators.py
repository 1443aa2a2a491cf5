"""What an operator makes of its operands, and what a text is the text of."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.values import STRINGS, UNKNOWN, Kind, Value, one, union

if TYPE_CHECKING:
    from npuify.analysis.values import Values


def combined(left: Values, right: Values) -> Values:
    """What an operator makes of two operands: with a tensor on either side, a tensor."""
    found = []
    for one_side in left:
        for other in right:
            if Kind.NONE in (one_side.kind, other.kind):
                continue  # a placeholder is no operand
            value = _of_two(one_side, other)
            found.append(next((side.only_this(value) for side in (left, right) if value in side), one(value)))
    return union(found)


def _of_two(left: Value, right: Value) -> Value:
    kinds = {left.kind, right.kind}
    for kind in (Kind.TENSOR, Kind.BATCH, Kind.UNKNOWN):
        if kind in kinds:
            return left if left.kind is kind else right
    if not kinds.isdisjoint(STRINGS):
        return left if left.kind is Kind.DEVICE_STRING and left.name.endswith(":") else Value(Kind.STRING)
    if Kind.CONTAINER in kinds:
        return left if left.kind is Kind.CONTAINER else right
    return Value(Kind.NUMBER) if kinds == {Kind.NUMBER} else UNKNOWN


_ONE_FIELD = re.compile(r"\{(?:0|[^\W\d]\w*)?(?:!s)?\}")


def formatted(node: ast.expr) -> ast.expr | None:
    """The one expression that a text says, and no more: ``x`` in ``"%s" % x``, ``"{}".format(x)``, ``f"{x}"``."""
    if isinstance(node, ast.JoinedStr):
        (part,) = node.values if len(node.values) == 1 else (None,)
        return part.value if isinstance(part, ast.FormattedValue) and part.format_spec is None else None
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Mod) or getattr(node.left, "value", None) != "%s":
            return None
        of = node.right
        if isinstance(of, ast.Tuple):
            return of.elts[0] if len(of.elts) == 1 else None
        return None if isinstance(of, ast.Dict) else of
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "format":
        return None
    given = [*node.args, *(one.value for one in node.keywords if one.arg)]
    template = getattr(node.func.value, "value", None)
    if not isinstance(template, str) or _ONE_FIELD.fullmatch(template) is None or len(given) != 1:
        return None
    return None if isinstance(given[0], ast.Starred) else given[0]
