"""What an operator makes of its operands."""

from __future__ import annotations

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
