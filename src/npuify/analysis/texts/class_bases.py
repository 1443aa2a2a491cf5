"""The names of classes that a file may derive others from, by its text."""

from __future__ import annotations

import re

_CLASS = re.compile(rb"class[ \t\\\r\n]+\w+[ \t\\\r\n]*[(\[]")
_END = re.compile(rb"[)\]][ \t\\\r\n]*:")
_WORD = re.compile(rb"\w+")
_LONGEST = 4_000
"""Bytes of the longest list of bases that is read to its end."""


def names_of_bases(data: bytes) -> frozenset[bytes]:
    """All words that stand in the lists of bases of the classes of a file, and perhaps a few behind them.

    Args:
        data: the file's text.
    """
    found: set[bytes] = set()
    for match in _CLASS.finditer(data):
        start = match.end()
        found.update(_WORD.findall(data, start, _end_of_list(data, start)))
    return frozenset(found)


def _end_of_list(data: bytes, start: int) -> int:
    most = min(start + _LONGEST, len(data))
    for end in _END.finditer(data, start, most):
        text = data[start - 1 : end.end()]
        if text.count(b"(") == text.count(b")") and text.count(b"[") == text.count(b"]"):
            return end.start()
    return most
