"""The names of options that a file may declare, by its text: cheap to find."""

from __future__ import annotations

import re

_CALLED = (b"add_argument", b"DEFINE_")
DECLARING = (*_CALLED, b"set_defaults", b"dataclass")
"""Parts of words of which one stands in each file that declares options."""
_QUOTED = re.compile(rb"[\"']-{0,2}([A-Za-z_][\w-]*)[\"']")
_SETTING = re.compile(rb"\.set_defaults\(([^()]*)")
_FIELD = re.compile(rb"^[ \t]+(\w+)[ \t]*:", re.MULTILINE)
_KEYWORD = re.compile(rb"(\w+)[ \t]*=")


def declared_options(data: bytes) -> set[bytes]:
    """The attributes that options of argparse, absl or the fields of dataclasses may be read from: all that a file
    declares or sets defaults of, and some more.
    """
    found: set[bytes] = set()
    if any(word in data for word in _CALLED):
        found.update(name.replace(b"-", b"_") for name in _QUOTED.findall(data))
    for arguments in _SETTING.findall(data) if b".set_defaults(" in data else ():
        found.update(_KEYWORD.findall(arguments))
    if b"dataclass" in data:
        found.update(_FIELD.findall(data))
    return found
