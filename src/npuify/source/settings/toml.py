"""TOML: its strings; numbers and truth values name no device."""

from __future__ import annotations

import re

from npuify.project.toml import TOMLDecodeError, parse
from npuify.source.settings import Document, UnreadableSettings, Value, last_key
from npuify.source.toml_spans import strings


def read(data: bytes) -> Document:
    """The strings of a TOML file.

    Raises:
        UnreadableSettings: it is not TOML.
    """
    try:
        parse(data.decode("utf-8"))
        # One character a byte, so that offsets are those into the bytes.
        text = data.decode("latin-1")
        found = list(strings(text))
    except (TOMLDecodeError, UnicodeDecodeError, ValueError, IndexError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        raise UnreadableSettings(f"not TOML: {error}", int(line.group(1)) if line else 0) from None
    values = []
    for one in found:
        quote = next(mark for mark in ('"""', "'''", '"', "'") if text.startswith(mark, one.start))
        start, end = one.start + len(quote), one.end - len(quote)
        shown = data[start:end].decode("utf-8", "replace")
        place = (one.key_start, one.key_end)
        if text[one.key_start : one.key_end] != one.path[-1]:
            # A key with quotes or dots, or one further out, has no place of its own.
            place = (0, 0)
        values.append(Value(one.path, shown, start, end, *place, quote, one.statement_end, last_key(one.path)))
    return Document(values, [])
