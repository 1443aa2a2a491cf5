"""What Python 2 alone understands: statements by which a file is known to be no Python 3 before it is parsed."""

from __future__ import annotations

import re
from typing import Final

_STATEMENTS: Final = tuple(
    re.compile(pattern)
    # Each begins with a word as it stands: these are found fast, and files are large and many.
    for pattern in (
        rb"print(?:[ \t]*(?:>>|`)|[ \t]+[\"'\w%])",
        rb"except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:",
        rb"except[ \t]+\([\w., \t]+\)[ \t]*,[ \t]*\w+[ \t]*:",
        rb"exec[ \t]+[\"'\w]",
        rb"raise[ \t]+[\w.]+[ \t]*,",
    )
)


def may_be_python_2(data: bytes) -> bool:
    """Whether a line of a file begins as only Python 2 has it; the text of a string or docstring may do so, too."""
    return any(_begins_a_line(match, data) for pattern in _STATEMENTS for match in pattern.finditer(data))


def _begins_a_line(match: re.Match[bytes], data: bytes) -> bool:
    start = max(data.rfind(b"\n", 0, match.start()), data.rfind(b"\r", 0, match.start())) + 1
    before = data[start : match.start()].strip()
    # ``else: print x`` and ``x = 1; print x``
    return (not before or before[-1:] in b":;") and not before.startswith(b"#")
