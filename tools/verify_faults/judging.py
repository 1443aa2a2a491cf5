"""Whether a comparison says of a fault what it has to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.verify.comparison.result import Comparison

    from .table import Fault


def named(result: Comparison) -> str:
    """The first difference, in short."""
    first = result.first
    return f"{first.kind} at {first.name}: {first.message}" if first is not None else "no difference"


def found_rightly(result: Comparison, fault: Fault) -> bool:
    """Whether the first difference is the fault's, at its place."""
    first = result.first
    if first is None or first.name != fault.module or first.kind not in fault.kinds:
        return False
    told = " ".join([first.message, *(one.text for one in first.explanations)])
    return fault.words in told
