"""An extension that a project builds."""

from __future__ import annotations

from typing import NamedTuple


class Build(NamedTuple):
    """One extension."""

    module: str
    """Its name as Python imports it; empty where it cannot be told."""
    sources: tuple[str, ...]
    """Paths as written, as far as they are literals."""
    file: str
    line: int
    kind: str
    """The function that makes it: ``CUDAExtension``, ``load_inline``, …"""
    code: tuple[str, ...] = ()
    """Source code that ``load_inline`` is given."""
    functions: tuple[str, ...] = ()
    """The functions of that code that ``load_inline`` hands to Python."""
    loader: str = ""
    """The class whose ``load()`` gives the module, where one does."""
    macros: tuple[tuple[str, str], ...] = ()
    """What its compiler is told to define, and as what: ``?`` where Python computes it."""
    form: str = ""
    """Of a name that cannot be told what is written of it, ``*`` for what Python computes."""
    variable: str = ""
    """The variable that holds such a name, where the file has it from elsewhere."""
