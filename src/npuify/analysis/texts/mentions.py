"""Which files may mention what a file of the project binds at its top, or derive from it, by their text.

A name as common as ``main`` stands in hundreds of files, most of which mean one of their own.
"""

from __future__ import annotations

import posixpath
from typing import Protocol

_STARS = b"import *"
_RELATIVE = b"from ."
_PACKAGE = "__init__.py"


class Searched(Protocol):
    """What is needed of a project: its searches."""

    def files_with(self, text: bytes) -> list[str]:
        """The files in which a text stands, in whole words."""

    def files_importing(self, name: bytes) -> list[str]:
        """The files that may import something in whose dotted name a word stands."""


def files_mentioning(name: str, relative: str, project: Searched) -> list[str]:
    """The files that may mention what a module binds: they import it, or read an attribute of that name.

    Args:
        name: the name that the module binds at its top.
        relative: the module's file; it is not left out.
        project: the project.

    Returns:
        Files in which the name stands, in their order. Those are left out that import neither the module, nor one
        which may hand the name on, nor read the name as an attribute of something.
    """
    word = name.encode()
    holding = project.files_with(word)
    if len(holding) < 2 or relative == _PACKAGE:
        return holding
    handing = {*holding, *project.files_with(_STARS)}
    known, pending = {relative}, [relative]
    while pending:
        module = pending.pop()
        for other in _taking_from(module, handing, project):
            if other not in known:
                known.add(other)
                pending.append(other)
    if len(known) == 1:
        return [relative]
    # A module may be handed on as an object, too.
    attribute = set(project.files_with(b"." + word))
    return [one for one in holding if one in known or one in attribute]


def _taking_from(module: str, able: set[str], project: Searched) -> set[str]:
    """Those of some files that may import from a module, given by its file."""
    folder, _, file = module.rpartition("/")
    if file != _PACKAGE:
        return able.intersection(project.files_importing(posixpath.splitext(file)[0].encode()))
    found = able.intersection(project.files_importing(posixpath.basename(folder).encode())) if folder else able
    # A package need not be called by its name in it: from . import name
    inside = {one for one in able if one.startswith(f"{folder}/")}
    return found | inside.intersection(project.files_with(_RELATIVE))
