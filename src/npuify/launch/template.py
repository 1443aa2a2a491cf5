"""The scripts that are written, as they lie in ``templates``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import npuify.scripts.template as template


@cache
def plain(name: str) -> str:
    """The template ``name``, which has no holes."""
    return (files("npuify.launch") / "templates" / name).read_text(encoding="utf-8")


def filled(name: str, **values: str) -> str:
    """The template ``name`` with all its holes filled.

    Raises:
        KeyError: a hole has no value.
    """
    return template.filled(plain(name), **values)
