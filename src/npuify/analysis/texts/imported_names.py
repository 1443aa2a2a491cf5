"""The parts of the names that a file may import, by its text."""

from __future__ import annotations

import re

_WORD = re.compile(rb"\w+")
_IMPORT = re.compile(rb"import\b(?:[ \t]*\([^)]*|[^\n\\]*(?:\\\r?\n[^\n\\]*)*)")
_CONTINUED = (b"\\\n", b"\\\r\n")
_OTHERWISE = (
    *(b"import_module(", b"__import__(", b"spec_from_file_location(", b"import_string("),
    *(b"locate(", b"run_path(", b"run_module(", b"exec(", b"%run"),
)
"""What brings in modules, or what they hold, without a statement."""


def imported_names(data: bytes) -> frozenset[bytes] | None:
    """All words of the lines with import statements: modules, their packages, and what is taken from them.

    Args:
        data: the file's text.

    Returns:
        The words; None for a file that imports in other ways, too.
    """
    if any(word in data for word in _OTHERWISE):
        return None
    texts = []
    for match in _IMPORT.finditer(data):
        start = data.rfind(b"\n", 0, match.start()) + 1
        while data.endswith(_CONTINUED, 0, start):
            start = data.rfind(b"\n", 0, start - 1) + 1
        texts.append(data[start : match.end()])
    return frozenset(_WORD.findall(b" ".join(texts)))
