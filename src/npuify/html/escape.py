"""The one place where text of a project becomes text of the page."""

from __future__ import annotations

import html
import json
from typing import Any

from npuify.language import told
from npuify.visible import visible


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


def prose(text: str) -> str:
    """Text for people, which a table or a result may have kept as it was written, as HTML."""
    return escaped(told(text))
