"""JSON Schemas of reports, made from the types that the reports are made of."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

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
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _with_endless(value: Any) -> Any:
    if value == {"type": "number"}:
        return _ENDLESS
    if isinstance(value, dict):
        return {key: _with_endless(one) for key, one in value.items()}
    return [_with_endless(one) for one in value] if isinstance(value, list) else value
