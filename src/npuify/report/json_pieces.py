"""JSON in pieces, so that a report with many findings never stands in memory as a whole."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

AT_ONCE: Final = 256
"""Items of a list that are encoded together."""


def document_in_pieces(
    frame: Any, lists: Mapping[str, Iterable[Any]], *, depth: int = 1, indented: Callable[[Any], bytes]
) -> Iterator[bytes]:
    """A JSON document, indented by two, with a line end behind it.

    Args:
        frame: the document, in which ``lists`` are empty.
        lists: items by key, in the order in which these stand in the document.
        depth: how deep the keys stand; no other key of the document stands as deep under the same name.
        indented: gives a value as JSON, indented by two.
    """
    indent = b"  " * depth
    text = indented(frame)
    for name, items in lists.items():
        mark = b'\n%s"%s": [' % (indent, name.encode("ascii"))
        # Only structure begins a line.
        at = text.index(mark + b"]") + len(mark)
        yield text[:at]
        text = text[at:]
        yield from _items(items, indent, indented)
    yield text + b"\n"


def _items(items: Iterable[Any], indent: bytes, indented: Callable[[Any], bytes]) -> Iterator[bytes]:
    waiting = iter(items)
    comma = b""
    while some := list(islice(waiting, AT_ONCE)):
        yield comma + indented(some)[1:-2].replace(b"\n", b"\n" + indent)
        comma = b","
    if comma:
        yield b"\n" + indent


def encoded(value: Any) -> bytes:
    """``value`` as JSON in one line; bytes of a file's name that are no text are written out, as text."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(msgspec.to_builtins(value)))


def indented(value: Any) -> bytes:
    """As :func:`encoded`, indented by two."""
    return msgspec.json.format(encoded(value), indent=2)


def with_escapes(value: Any) -> bytes:
    """``value`` as JSON, indented by two; bytes of a file's name that are no text are escapes of JSON."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2)
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")


def _clean(value: Any) -> Any:
    """``value`` with surrogates in its strings written out, before JSON escapes backslashes."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
