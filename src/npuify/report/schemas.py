"""JSON Schemas of reports, made from the types that the reports are made of; what they describe is told in the user's
language."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any, Final

import msgspec

from npuify.language import phrase

_SECTION: Final = re.compile("(?:Attributes|Args|Returns|Raises):\n")
_ENDLESS: Final = {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}


def schema_of(kind: type, name: str, version: int, title: str, *, endless: bool = False) -> str:
    """The JSON Schema (draft 2020-12) of ``kind``.

    Args:
        name: of the command, with hyphens.
        endless: numbers may be text instead: ``nan``, ``inf``, ``-inf``, for which JSON has no word.
    """
    found = msgspec.json.schema(kind)
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:npuify:{name}:{version}",
        "title": title,
        **(_with_endless(found) if endless else found),
    }
    return schema_json(whole)


def schema_json(whole: dict[str, Any]) -> str:
    """A schema as text, its title and descriptions in the user's language."""
    told = described(whole)
    if "title" in whole:
        told["title"] = phrase(whole["title"])
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def described(schema: Any) -> Any:
    """A schema with its descriptions in the user's language, each in one line a paragraph.

    Names stay: keys, values, and the titles of types and properties, which are names, too.
    """
    if isinstance(schema, dict):
        return {
            key: _described(one) if key == "description" and isinstance(one, str) else described(one)
            for key, one in schema.items()
        }
    return [described(one) for one in schema] if isinstance(schema, list) else schema


def _described(documentation: str) -> str:
    paragraphs = inspect.cleandoc(documentation).split("\n\n")
    # Sections are for those who read the code.
    return "\n\n".join(phrase(" ".join(one.split())) for one in paragraphs if not _SECTION.match(one))


def _with_endless(value: Any) -> Any:
    if value == {"type": "number"}:
        return _ENDLESS
    if isinstance(value, dict):
        return {key: _with_endless(one) for key, one in value.items()}
    return [_with_endless(one) for one in value] if isinstance(value, list) else value
