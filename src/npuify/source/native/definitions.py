"""What a file of C++ or CUDA defines: functions, macros, constants, with their text."""

from __future__ import annotations

import re
from bisect import bisect
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.source.native.reader import block_at, defined_functions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
_DEFAULT: Final = re.compile(r"\w\s*=(?!=)")
_ENUM: Final = re.compile(r"\benum\s+(?:class\s+|struct\s+)?\w*\s*(?::\s*[\w:]+\s*)?\{([^{}]*)\}")
_GLOBAL: Final = re.compile(
    r"^(?:(?:static|inline|extern|__device__|__managed__|thread_local)\s+)*"
    r"(?!(?:return|using|typedef|namespace|else|case|goto|delete|const|constexpr|template|struct|class|enum)\b)"
    r"[A-Za-z_][\w:]*(?:<[^;{}()=]*>)?[\s*&]+(\w+)\s*((?:\[[^\]\n]*\]\s*)*=\s*[^;]*);",
    re.MULTILINE,
)
"""A variable of the whole file with a value: it may be changed, but begins with that."""
_CONDITION: Final = re.compile(
    r"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE | re.DOTALL
)
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_ARGUMENT: Final = re.compile(
    r'(?:py(?:bind11)?::)?arg\(\s*"(\w+)"\s*\)(?:\s*=\s*([^,)]+))?|"(\w+)"_a(?:\s*=\s*([^,)]+))?'
)


_WITH_DEFAULTS: Final = re.compile(r"\b(\w+)\s*\(([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*=[^;{}]*)\)\s*;")
"""A prototype whose parameters have values where they are not given."""
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
    defaults: Mapping[str, str] = {}
    """What such functions take where nothing is given: their parameters, by name."""
    macros: Mapping[str, Sequence[str]] = {}
    """Those of ``others`` that are macros."""


def definitions_in(data: bytes) -> Definitions:
    """All that a file defines.

    Args:
        data: its text, in any encoding that has ASCII in it.
    """
    data = data.replace(b"\r\n", b"\n")
    plain = data.decode("utf-8", "replace")
    conditions = list(_conditions(plain))
    starts = [start for start, _ in conditions]

    def under(text: str, offset: int) -> str:
        """What is defined, with the conditions under which it is compiled."""
        at = bisect(starts, offset) - 1
        held = conditions[at][1] if at >= 0 else ()
        return "\n".join([text, *(f"#{one}" for one in held)])

    functions: dict[str, list[str]] = {}
    for name, text, offset in defined_functions(data):
        place = len(data[:offset].decode("utf-8", "replace")) if conditions else 0
        functions.setdefault(name, []).append(under(text, place))
    macros: dict[str, list[str]] = {}
    for match in _MACRO.finditer(plain):
        macros.setdefault(match.group(1), []).append(under(match.group(2).replace("\\\n", " "), match.start()))
    others: dict[str, list[str]] = {name: list(texts) for name, texts in macros.items()}
    for match in _CONSTANT.finditer(plain):
        others.setdefault(match.group(1), []).append(under(match.group(2).replace("\\\n", " "), match.start()))
    bare = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), plain)
    for pattern, of_values in ((_TABLE, (2, 4)), (_ALIAS, (1, 4))):
        for match in pattern.finditer(bare):
            name = match.group(1) if of_values[0] == 2 else match.group(2)
            value = match.group(of_values[0]) or match.group(of_values[1])
            others.setdefault(name or match.group(3), []).append(under(value, match.start()))
    for match in _GLOBAL.finditer(bare):
        if match.group(1) not in others:
            others[match.group(1)] = [under(match.group(2), match.start())]
    for match in _ENUM.finditer(bare):
        for place, item in enumerate(match.group(1).split(",")):
            if name := item.partition("=")[0].strip():
                # Without a value it is one more than the one before.
                others.setdefault(name, []).append(f"{place} {match.group(1)}")
    types: dict[str, list[str]] = {}
    if "struct" in plain or "class" in plain:
        for match in _TYPE.finditer(plain):
            start = match.end() - 1
            body = block_at(plain[start:].encode(), 0).decode("utf-8", "replace")
            types.setdefault(match.group(1), []).append(under(match.group(2) + body, match.start()))
    defaults = {name: text for name, text in _WITH_DEFAULTS.findall(bare) if _DEFAULT.search(text)}
    return Definitions(functions, others, types, frozenset(_PROTOTYPE.findall(bare)), defaults, macros)


def _conditions(plain: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Where in a text which conditions of the preprocessor hold; a header's guard against itself is none."""
    held: list[str] = []
    for match in _CONDITION.finditer(plain):
        kind, rest = match.group(1), _COMMENT.sub(" ", match.group(2)).strip()
        if kind == "endif":
            del held[-1:]
        elif kind in ("else", "elif"):
            held[-1:] = [f"{held[-1]} {kind} {rest}".strip()] if held and held[-1] else held[-1:]
        else:
            behind = plain[match.end() : match.end() + 200].lstrip()
            guard = kind == "ifndef" and re.match(r"#\s*define\s+" + re.escape(rest) + r"\s*(?:\n|//|/\*)", behind)
            held.append("" if guard else f"{kind} {rest}")
        yield match.end(), tuple(one for one in held if one)


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


def default_values(data: bytes, name: str) -> tuple[str, ...]:
    """What an operator of a library of torch's takes where nothing is given, by the text of its schema."""
    plain = data.decode("utf-8", "replace")
    schemas = re.findall(r'"(?:\w+::)?' + re.escape(name) + r'\(([^"]*)"', plain)
    return tuple(part.strip() for schema in schemas for part in schema.split(",") if "=" in part)
