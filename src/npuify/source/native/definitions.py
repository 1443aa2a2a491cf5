"""What a file of C++ or CUDA defines: functions, macros, constants, with their text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.source.native.reader import block_at, defined_functions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MACRO: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE | re.DOTALL)
_CONSTANT: Final = re.compile(
    r"^(?:static |inline |__device__ |__constant__ )*(?:const|constexpr) [^;(){}=]*?\b(\w+)\s*=\s*([^;{}]*);",
    re.MULTILINE,
)
_TYPE: Final = re.compile(
    r"\b(?:struct|class)\s+(?:__align__\s*\([^()]*\)\s*|alignas\s*\([^()]*\)\s*)?(\w+)\s*"
    r"((?:<[^;{}]*>\s*)?(?:final\s*)?(?::[^:;{}][^;{}]*)?)\{"
)
_TABLE: Final = re.compile(
    r"^[ \t]*(?:(?:static|inline|__device__|__constant__|const|constexpr)\s+)+[^;(){}=]*?\b(\w+)\s*"
    r"(?:\[[^\]\n]*\]\s*)+=\s*(\{[^;]*\})\s*;|"
    r"^[ \t]*(?:(?:static|inline|__device__)\s+)*__constant__\s+[^;(){}=]*?\b(\w+)\s*=\s*([^;{}]*);",
    re.MULTILINE,
)
_ALIAS: Final = re.compile(
    r"^typedef\s+([^;{}()]+?)\b(\w+)\s*;|^using\s+(\w+)\s*=\s*([^;{}]+);", re.MULTILINE
)  # those inside a function are a part of its form
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_ARGUMENT: Final = re.compile(
    r'(?:py(?:bind11)?::)?arg\(\s*"(\w+)"\s*\)(?:\s*=\s*([^,)]+))?|"(\w+)"_a(?:\s*=\s*([^,)]+))?'
)


_PROTOTYPE: Final = re.compile(
    r"^(?:extern |static |inline |template\s*<[^;{}()]*>\s*)*(?:const )?[A-Za-z_][\w:]*(?:<[^;{}()=]*>)?[\s*&]+(\w+)\s*"
    r"\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)\s*;",
    re.MULTILINE,
)
"""A function that another file defines: a type, a name, parameters, and no block."""


class Definitions(NamedTuple):
    """What one file defines, by name."""

    functions: Mapping[str, Sequence[str]]
    """The text of each from its parameters on, by name."""
    others: Mapping[str, Sequence[str]]
    """The values of macros, constants and tables of the file, and what its aliases of types stand for."""
    types: Mapping[str, Sequence[str]]
    """Structures and classes with their bodies: functors compute, traits hold constants."""
    declared: frozenset[str] = frozenset()
    """Functions that it says to be defined elsewhere."""


def definitions_in(data: bytes) -> Definitions:
    """All that a file defines.

    Args:
        data: its text, in any encoding that has ASCII in it.
    """
    data = data.replace(b"\r\n", b"\n")
    functions: dict[str, list[str]] = {}
    for name, text in defined_functions(data):
        functions.setdefault(name, []).append(text)
    plain = data.decode("utf-8", "replace")
    others: dict[str, list[str]] = {}
    for pattern in (_MACRO, _CONSTANT):
        for match in pattern.finditer(plain):
            others.setdefault(match.group(1), []).append(match.group(2).replace("\\\n", " "))
    bare = _COMMENT.sub(" ", plain)
    for pattern, of_values in ((_TABLE, (2, 4)), (_ALIAS, (1, 4))):
        for match in pattern.finditer(bare):
            name = match.group(1) if of_values[0] == 2 else match.group(2)
            others.setdefault(name or match.group(3), []).append(match.group(of_values[0]) or match.group(of_values[1]))
    types: dict[str, list[str]] = {}
    if "struct" in plain or "class" in plain:
        for match in _TYPE.finditer(plain):
            start = match.end() - 1
            body = block_at(plain[start:].encode(), 0).decode("utf-8", "replace")
            types.setdefault(match.group(1), []).append(match.group(2) + body)
    declared = frozenset(_PROTOTYPE.findall(_COMMENT.sub(" ", plain)))
    return Definitions(functions, others, types, declared)


def included(data: bytes) -> tuple[str, ...]:
    """The headers that a file includes, as it writes them."""
    return tuple(_INCLUDE.findall(data.decode("utf-8", "replace")))


def named_arguments(data: bytes, name: str) -> tuple[str, ...]:
    """The names, with their default values, under which the binding of ``name`` takes its arguments."""
    plain = data.decode("utf-8", "replace")
    found = re.search(r"\.def\(\s*\"" + re.escape(name) + r"\"([^;]*);", plain)
    if found is None:
        return ()
    return tuple(f"{one[0] or one[2]}={(one[1] or one[3]).strip()}" for one in _ARGUMENT.findall(found.group(1)))
