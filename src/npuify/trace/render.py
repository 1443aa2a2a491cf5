"""A trace as text, JSON or HTML."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from npuify.language import spoken
from npuify.report.in_language import in_language
from npuify.trace.summary import counts
from npuify.trace.text import lines
from npuify.version import __version__

if TYPE_CHECKING:
    from npuify.trace.result import TraceResult


def render(result: TraceResult, format: str) -> str:
    """``result`` as ``text``, ``json`` or ``html``."""
    if format == "json":
        return json.dumps(document(result), indent=1) + "\n"
    if format == "html":
        from npuify.trace.page import page

        return page(result)
    return "\n".join(lines(result)) + "\n"


def document(result: TraceResult) -> dict[str, object]:
    """As JSON has it: ``version``, ``tool``, ``summary``, and the trace's own fields."""
    body = msgspec.to_builtins(in_language(result))
    return {
        "version": 1,
        "tool": {"name": "npuify trace", "version": __version__},
        "language": spoken(),
        "summary": {support.value: count for support, count in counts(result).items()},
        **body,
    }
