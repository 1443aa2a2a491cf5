"""Lines as editors count them, and which of them change."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple


class Replacement(NamedTuple):
    """Lines ``first`` to ``last`` (from 0, ``last`` out) become ``text``."""

    first: int
    last: int
    text: str


def lines_of(text: str) -> list[str]:
    """With their ends: a form feed ends none."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)


def difference(before: str, after: str) -> list[Replacement]:
    """Which lines change."""
    old, new = lines_of(before), lines_of(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        Replacement(first, last, "".join(new[start:end]))
        for tag, first, last, start, end in matcher.get_opcodes()
        if tag != "equal"
    ]
