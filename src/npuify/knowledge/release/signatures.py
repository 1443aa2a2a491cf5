"""From the compact text of a signature, or the schema of an operator, to parameters."""

from __future__ import annotations

import re
from typing import Literal

from npuify.knowledge.schema import Parameter

_OPEN, _CLOSE = "([{", ")]}"


def parse_parameters(text: str) -> tuple[Parameter, ...]:
    """The parameters of ``a,b=1,*,c=None,**d``."""
    parts = _split(text)
    positional_only = parts.index("/") if "/" in parts else -1
    found: list[Parameter] = []
    keyword_only = False
    for index, part in enumerate(parts):
        if part == "/":
            continue
        if part == "*":
            keyword_only = True
        elif part.startswith("**"):
            found.append(Parameter(part[2:], "kwargs"))
        elif part.startswith("*"):
            keyword_only = True
            found.append(Parameter(part[1:], "args"))
        else:
            name, equals, default = part.partition("=")
            kind: Literal["positional", "both", "keyword"] = "keyword" if keyword_only else "both"
            if index < positional_only:
                kind = "positional"
            found.append(Parameter(name, kind, default if equals else None))
    return tuple(found)


def parse_schema(schema: str) -> tuple[Parameter, ...]:
    """The parameters of an operator's schema, ``.overload(Tensor a, *, int? b=None) -> Tensor``."""
    start = schema.index("(")
    depth = 0
    end = len(schema)
    for index in range(start, len(schema)):
        depth += (schema[index] in _OPEN) - (schema[index] in _CLOSE)
        if depth == 0:
            end = index
            break
    found: list[Parameter] = []
    keyword_only = False
    for part in _split(schema[start + 1 : end]):
        if part == "*":
            keyword_only = True
            continue
        declaration, equals, default = part.partition("=")
        name = re.split(r"\s+", declaration.strip())[-1]
        found.append(Parameter(name, "keyword" if keyword_only else "both", default.strip() if equals else None))
    return tuple(found)


def _split(text: str) -> list[str]:
    """``text`` at its outermost commas; commas in brackets and strings do not count."""
    parts, depth, quote, current = [], 0, "", ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += character
    if current.strip():
        parts.append(current.strip())
    return parts
