"""Texts with holes: the scripts that are written, as they lie in ``templates``."""

from __future__ import annotations

import string
from functools import cache
from importlib.resources import files


class _Script(string.Template):
    """A template whose holes do not look like a shell's variables: ``@@{name}``."""

    delimiter = "@@"


@cache
def _text(name: str) -> str:
    return (files("npuify.distribute.launching") / "templates" / name).read_text(encoding="utf-8")


def plain(name: str) -> str:
    """The template ``name``, which has no holes."""
    return _text(name)


def filled(template: str, **values: str) -> str:
    """The template called ``template`` with all its holes filled.

    Raises:
        KeyError: a hole has no value.
    """
    return _Script(_text(template)).substitute(values)
