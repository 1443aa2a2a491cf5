"""The one place where text of a project becomes text of the page."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters, marks that turn the direction of text, and what takes no room: they hide or move what is read."""


def visible(text: str) -> str:
    """``text`` with what cannot be seen shown by its code point, and bytes that are no text as ``\\udcXX``.

    A carriage return before a line feed is left out: it is how the line ends, and nothing that a person reads.
    """
    if text.isascii() and text.isprintable():
        return text
    plain = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\r\n", "\n")
    return _INVISIBLE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", plain)


def escaped(text: str) -> str:
    """``text`` for the content of an element or for an attribute in double quotes."""
    return html.escape(visible(text), quote=True)


def shortened(text: str, limit: int) -> str:
    """``text`` with its middle left out where it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    tail = limit * 2 // 3
    return text[: limit - tail - 1] + "…" + text[-tail:]


def embedded(value: Any) -> str:
    """``value`` as JSON for a script element that is not executed: nothing in it can end that element."""
    dumped = json.dumps(_visible(value), ensure_ascii=True, separators=(",", ":"))
    return dumped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_visible(key): _visible(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_visible(item) for item in value]
    return value
