"""The names of attributes that a file may assign to, by its text: far fewer than it reads, and cheap to find."""

from __future__ import annotations

import re
from typing import NamedTuple

_ASSIGNED = re.compile(
    rb"\.(\w+)\b(?![.(\[])(?=([ \t]*[)\]]*[ \t]*"
    rb"(?:(?:[-+*/%&|^@]|//|\*\*|>>|<<)?=(?!=)|:[^\n=()]*=(?!=)|,\s*[*([]*[^=(]*=(?!=))))"
)
"""Assignments, with an operator, an annotation or further targets, too."""
_CALLED = re.compile(rb"\w\([^)\n]*\Z")
"""A call that is still open, in which ``x.y, name=`` gives arguments: ``State(apply=net.forward, params=weights)``."""
_LOOP = re.compile(rb"for ([\w, ()\[\]*]*\.[^\n]*?) in ")
_AS = re.compile(rb" as [\w.]*\.(\w+)")
_ATTRIBUTE = re.compile(rb"\.(\w+)")
_SETTERS = (b"setattr", b"register_buffer", b"register_parameter", b"register_module", b"add_module")
_QUOTED = re.compile(rb"[\"'](\w+)[\"']")
_SELF = re.compile(rb"\bself\Z")
_REACH = 400
"""Bytes behind the name of a function that sets an attribute in which the attribute's name stands."""


class StoredNames(NamedTuple):
    """The names of attributes that a file may assign to: all that it does, and some that it does not."""

    all: frozenset[bytes]
    """By statements, loops, ``with`` and functions that set attributes."""
    overwritten: frozenset[bytes]
    """By statements alone, and of anything but ``self``."""


def stored_names(data: bytes) -> StoredNames:
    """The names of attributes that a file of that text may assign to."""
    found: set[bytes] = set(_AS.findall(data)) if b" as " in data else set()
    overwritten: set[bytes] = set()
    for match in _ASSIGNED.finditer(data):
        end = match.start()
        if b"," in match[2] and _CALLED.search(data, data.rfind(b"\n", 0, end) + 1, end) is not None:
            continue
        (found if _SELF.search(data, max(end - 5, 0), end) else overwritten).add(match[1])
    for targets in _LOOP.findall(data):
        found.update(_ATTRIBUTE.findall(targets))
    for setter in _SETTERS:
        at = data.find(setter)
        while at >= 0:
            found.update(_QUOTED.findall(data, at, at + _REACH))
            at = data.find(setter, at + 1)
    return StoredNames(frozenset(found | overwritten), frozenset(overwritten))
