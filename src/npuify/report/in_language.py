"""Texts that were kept in English, in the language that npuify speaks: for JSON, where nothing else translates them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from npuify.language import ENGLISH, spoken, told

if TYPE_CHECKING:
    from collections.abc import Callable

_TEXTS: Final = frozenset(
    (
        "advice",
        "basis",
        *("because", "caveat", "collect", "equivalent", "evidence", "fix", "how", "message", "notes", "prepared"),
        *("question", "reason", "rules", "said", "seen", "summary", "text", "threshold"),
        *("title", "topic", "verdict", "ways", "what", "why"),
    )
)
"""Fields that are for people; all others are names, codes and places."""

Kept = TypeVar("Kept", bound=msgspec.Struct)


def in_language(kept: Kept) -> Kept:
    """``kept`` with its texts, and those of what it holds, as a person is to read them."""
    return kept if spoken() == ENGLISH else _struct(kept)


def as_json(kept: msgspec.Struct) -> str:
    """A result as a JSON document, indented, with its texts, and the name of their language in ``language``."""
    told_of = in_language(msgspec.structs.replace(kept, language=spoken()))
    return msgspec.json.format(msgspec.json.encode(told_of), indent=2).decode("utf-8") + "\n"


def _struct(kept: Kept) -> Kept:
    changed = {}
    for name in kept.__struct_fields__:
        value = getattr(kept, name)
        if isinstance(value, str):
            new: Any = told(value) if name in _TEXTS else value
        else:
            new = _held(value, told if name in _TEXTS else str)
        if new is not value:
            changed[name] = new
    return msgspec.structs.replace(kept, **changed) if changed else kept


def _held(value: Any, of_text: Callable[[str], str]) -> Any:
    if isinstance(value, msgspec.Struct):
        return _struct(value)
    if isinstance(value, tuple):
        return tuple(of_text(one) if isinstance(one, str) else _held(one, of_text) for one in value)
    return value
