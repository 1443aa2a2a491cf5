"""YAML, read as a stream of events: nothing is built, so that no tag, anchor or depth of nesting can do harm."""

from __future__ import annotations

import re
from typing import Any

from npuify.source.settings import Document, Key, UnreadableSettings, Value, last_key

_PLAIN_LETTERS = bytes(byte if byte < 0x80 else 0xE9 for byte in range(256))
"""One character a byte, so that an offset into the one is an offset into the other."""
_TEMPLATE_LINE = re.compile(rb"^[ \t-]*\{\{.*?\}\}[ \t]*\r?$|^[ \t]*\{%.*?%\}[ \t]*\r?$", re.MULTILINE)
_TEMPLATE = re.compile(rb"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def read(data: bytes) -> Document:
    """The scalars of all documents in a YAML file.

    Templates in double braces are read as words. Tabs, anchors, tags and merges are let through.

    Raises:
        UnreadableSettings: it is not YAML.
    """
    import yaml

    text = _without_templates(data).translate(_PLAIN_LETTERS).decode("latin-1")
    loader = getattr(yaml, "CLoader", yaml.Loader)
    walk = _Walk(data)
    try:
        for event in yaml.parse(text, Loader=loader):
            walk.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        raise UnreadableSettings(f"not YAML: {problem}", mark.line + 1 if mark is not None else 0) from None
    except (RecursionError, ValueError) as error:
        raise UnreadableSettings(f"not YAML: {error}") from None
    return walk.document


def _without_templates(data: bytes) -> bytes:
    if b"{{" not in data and b"{%" not in data:
        return data
    data = _TEMPLATE_LINE.sub(lambda match: b"#" + re.sub(rb"[^\r\n]", b"x", match.group()[1:]), data)
    return _TEMPLATE.sub(lambda match: re.sub(rb"[^\r\n]", b"x", match.group()), data)


class _Frame:
    """A mapping or a sequence that is open."""

    __slots__ = ("is_map", "key", "key_span", "number", "path", "wants_key")

    def __init__(self, path: tuple[str, ...], number: int, *, is_map: bool) -> None:
        self.path = path
        self.number = number
        self.is_map = is_map
        self.wants_key = is_map
        self.key = ""
        self.key_span = (0, 0)


class _Walk:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.document = Document([], [])
        self.frames: list[_Frame] = []
        self.numbers = 0

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            path = self._path()
            self._note_key(path)
            self._advance()
            self.numbers += 1
            self.frames.append(_Frame(path, self.numbers, is_map=kind == "MappingStartEvent"))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.frames.pop()
        elif kind == "AliasEvent":
            self._advance()
        elif kind == "ScalarEvent":
            self._scalar(event)
        elif kind == "DocumentStartEvent":
            self.frames.clear()

    def _path(self) -> tuple[str, ...]:
        if not self.frames:
            return ()
        frame = self.frames[-1]
        if not frame.is_map:
            return (*frame.path, "#")
        return (*frame.path, frame.key if not frame.wants_key else "?")

    def _advance(self) -> None:
        """A node of the open mapping is complete: a key is followed by its value, a value by the next key."""
        if self.frames and self.frames[-1].is_map:
            self.frames[-1].wants_key = not self.frames[-1].wants_key

    def _note_key(self, path: tuple[str, ...]) -> None:
        if self.frames and self.frames[-1].is_map and not self.frames[-1].wants_key:
            self.document.keys.append(Key(path, *self.frames[-1].key_span))

    def _scalar(self, event: Any) -> None:
        start, end, quote = event.start_mark.index, event.end_mark.index, ""
        if event.style in ("'", '"'):
            quote = event.style
            # Anchors and tags stand before the quote and belong to the event.
            start = self.data.find(quote.encode(), start, end) + 1
            end -= 1
        elif event.style in ("|", ">"):
            quote = event.style
            newline = self.data.find(b"\n", start, end)
            start = newline + 1 if newline >= 0 else end
        elif event.anchor is not None or event.tag is not None:
            written = self.data[start:end]
            prefix = re.match(rb"(?:[&!][^\s]*[ \t\r\n]+)+", written)
            start += prefix.end() if prefix else 0
        text = self.data[start:end].decode("utf-8", "replace")
        frame = self.frames[-1] if self.frames else None
        if frame is not None and frame.is_map and frame.wants_key:
            frame.key, frame.key_span = text, (start, end)
            self._advance()
            return
        path = self._path()
        span = frame.key_span if frame is not None and frame.is_map else (0, 0)
        if start < end:
            number = frame.number if frame is not None else 0
            self.document.values.append(Value(path, text, start, end, *span, quote, number, last_key(path)))
        else:
            self._note_key(path)
        self._advance()
