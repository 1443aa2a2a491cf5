"""A comparison as text, JSON or HTML."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from npuify.language import phrase, spoken
from npuify.model import NpuifyError
from npuify.report.in_language import in_language
from npuify.version import __version__

from .result import Comparison  # noqa: TC001  msgspec reads it
from .text import lines

FORMATS = ("text", "json", "html")
VERSION: Literal[1] = 1


class Tool(msgspec.Struct, frozen=True):
    """What wrote this."""

    name: str
    version: str


class Document(msgspec.Struct, frozen=True, kw_only=True, tag_field="command", tag="verify compare"):
    """What ``npuify verify compare`` found. Errors are those of B against A; 1e30 stands for infinite ones."""

    version: Literal[1]
    tool: Tool
    language: str
    comparison: Annotated[Comparison, Meta(description="What was found.")]


def render(result: Comparison, format: str) -> str:
    """``result`` in one of :data:`FORMATS`; ends in a line end.

    Raises:
        NpuifyError: there is no such format.
    """
    if format == "text":
        return "\n".join(lines(result)) + "\n"
    if format == "json":
        document = Document(
            version=VERSION, tool=Tool("npuify", __version__), language=spoken(), comparison=in_language(result)
        )
        return json.dumps(_finite(msgspec.to_builtins(document)), indent=1) + "\n"
    if format == "html":
        from .page import page

        return page(result)
    raise NpuifyError(phrase("there is no format {format!r}", format=format), advice="formats: " + ", ".join(FORMATS))


def schema() -> str:
    """The JSON Schema (draft 2020-12) of ``npuify verify compare --format json``."""
    from npuify.report.schemas import schema_of

    return schema_of(Document, "verify-compare", VERSION, "What npuify verify compare found")


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return 1e30 if value != float("-inf") else -1e30
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value
