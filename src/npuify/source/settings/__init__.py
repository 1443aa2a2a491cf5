"""Files of settings: where each key and value stands. YAML, JSON, TOML, INI and lists of variables.

A reader gives places in the file's bytes, so that one value can be replaced and every other byte stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Value(NamedTuple):
    """A value of a file of settings that is no table or list.

    Attributes:
        path: the keys that lead to it; the members of lists have ``#`` as key.
        text: the value, without quotes; escapes are left as they are written.
        start, end: offsets, in bytes, of the text inside the quotes.
        key_start, key_end: offsets of its key inside the quotes; both 0 for members of lists.
        quote: the quote around it, empty where there is none, ``|`` or ``>`` for a block of YAML.
        table: a number for the table or list that holds it.
        key: the last key that is no place in a list.
    """

    path: tuple[str, ...]
    text: str
    start: int
    end: int
    key_start: int
    key_end: int
    quote: str
    table: int
    key: str


def last_key(path: tuple[str, ...]) -> str:
    """The last key of a path that is no place in a list; empty where there is none."""
    return next((key for key in reversed(path) if key != "#"), "")


class Key(NamedTuple):
    """A key whose value is a table, a list, or nothing."""

    path: tuple[str, ...]
    start: int
    end: int


class Document(NamedTuple):
    """What a file of settings holds, in the order of its text."""

    values: list[Value]
    keys: list[Key]


class UnreadableSettings(Exception):
    """The text is not of its format. ``line`` is 0 where no line can be named."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read(kind: str, data: bytes) -> Document:
    """The settings in a file of ``kind``: ``yaml``, ``json``, ``toml``, ``ini`` or ``env``.

    Raises:
        UnreadableSettings: the text is not of that format.
    """
    return _reader(kind)(data)


def _reader(kind: str) -> Callable[[bytes], Document]:
    if kind == "yaml":
        from npuify.source.settings.yaml import read as reader
    elif kind == "json":
        from npuify.source.settings.json import read as reader
    elif kind == "toml":
        from npuify.source.settings.toml import read as reader
    else:
        from npuify.source.settings.ini import read as reader
    return reader
