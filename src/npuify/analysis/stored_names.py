"""The names of attributes that a file may assign to, by its text: far fewer than it reads, and cheap to find."""

from __future__ import annotations

import re

_ASSIGNED = re.compile(
    rb"(\bself)?\.(\w+)\b(?![.(\[])(?=[ \t]*[)\]]*[ \t]*"
    rb"(?:(?:[-+*/%&|^@]|//|\*\*|>>|<<)?=(?!=)|:[^\n=()]*=(?!=)|,\s*[*([]*[^=(]*=(?!=)))"
)
"""Assignments, with an operator, an annotation or further targets, too."""
_LOOP = re.compile(rb"for ([\w, ()\[\]*]*\.[^\n]*?) in ")
_AS = re.compile(rb" as [\w.]*\.(\w+)")
_ATTRIBUTE = re.compile(rb"\.(\w+)")
_SETTERS = (b"setattr", b"register_buffer", b"register_parameter", b"register_module", b"add_module")
_QUOTED = re.compile(rb"[\"'](\w+)[\"']")
_REACH = 400
"""Bytes behind the name of a function that sets an attribute in which the attribute's name stands."""


def stored_names(data: bytes) -> set[bytes]:
    """The names of attributes that a file may assign to: all that it does, and some that it does not."""
    found = {*(name for _, name in _ASSIGNED.findall(data)), *_AS.findall(data)}
    for targets in _LOOP.findall(data):
        found.update(_ATTRIBUTE.findall(targets))
    for setter in _SETTERS:
        at = data.find(setter)
        while at >= 0:
            found.update(_QUOTED.findall(data, at, at + _REACH))
            at = data.find(setter, at + 1)
    return found


def overwritten_names(data: bytes) -> set[bytes]:
    """The names of attributes that statements of a file may assign to, other than those of ``self``."""
    return {name for itself, name in _ASSIGNED.findall(data) if not itself}
