"""Texts with holes that do not look like a shell's variables: ``@@{name}``."""

from __future__ import annotations

import string


class _Script(string.Template):
    delimiter = "@@"


def filled(text: str, **values: str) -> str:
    """A template with all its holes filled.

    Raises:
        KeyError: a hole has no value.
    """
    return _Script(text).substitute(values)
