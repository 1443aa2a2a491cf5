"""Names of the program's own that become texts: nothing speaks of a device there, and the text may be given as one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_OF_MEMBERS: Final = re.compile(rb"\.name\b|\b__members__\b")
_OF_FIELDS: Final = re.compile(rb"\b(?:_fields|_asdict)\b")
_OF_OPTIONS: Final = re.compile(
    rb"\b(\w+)[\s)]+for[\s(]+\1[\s)]*(?:,[\s(]*\w+[\s)]*)?\s+in[\s(]+(?:vars\b[\s)]*\(|[\w.]+\.(?:__dict__|_get_kwargs)\b)"
)
"""How a program gets at the names that it gave."""


def becomes_text(node: ast.Name | ast.Attribute, file: PythonFile) -> bool:
    """Whether a name becomes a text: ``cls.cuda.__name__``, or a member of an Enum whose file asks for names."""
    parent = file.parent(node)
    if isinstance(node, ast.Attribute):
        return getattr(parent, "attr", "") == "__name__"
    holder = file.parent(parent) if isinstance(parent, (ast.Assign, ast.AnnAssign)) else None
    return (
        isinstance(holder, ast.ClassDef)
        and any("Enum" in file.code(base) for base in holder.bases)
        and _OF_MEMBERS.search(file.source.data) is not None
    )


def names_fields(node: ast.expr, file: PythonFile) -> bool:
    """Whether a text names the fields of a namedtuple, and its file asks for names of fields."""
    call = file.parent(node)
    return (
        isinstance(call, ast.Call)
        and node in call.args[1:]
        and file.qualname(call.func) == "collections.namedtuple"
        and _OF_FIELDS.search(file.source.data) is not None
    )


def is_option_asked_for(data: bytes) -> bool:
    """Whether names of options become texts: ``next(name for name, value in vars(args).items() if value)``."""
    return _OF_OPTIONS.search(data) is not None
