"""C source for symbols of which nothing but the name is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .elf import WantedSymbol

_DATA_BYTES = 4096
"""Room for a variable whose size nobody says; larger than any vtable seen."""
_VTABLE_ENTRIES = 64
_CONSTRUCTOR = re.compile(r"_ZN(.*?)C[12]E")
_PRELUDE = """\
extern long npuify_stand_in_called(const char *);
extern void *npuify_stand_in_called_cpp(const char *);
extern char class_type_info[] __asm__("_ZTVN10__cxxabiv117__class_type_infoE");
#define TYPE(name) { class_type_info + 2 * sizeof(void *), (void *)name }
static void *virtual_function(void) { return npuify_stand_in_called_cpp("a virtual function"); }
"""


def source_of(symbols: Iterable[WantedSymbol]) -> str:
    """C source that defines the symbols, each with the least that lets code which only loads the library go on.

    - A C function tells the runtime that it was called, and returns what that says; a C++ function likewise.
    - A constructor also gives its object a table of virtual functions: bindings ask objects for their type.
    - The description of a C++ type is that of a class without bases.
    - Any other variable is zeros.
    """
    lines = [_PRELUDE]
    for number, symbol in enumerate(symbols):
        name = symbol.name
        constructed = constructed_class(name)
        if name.startswith("_ZTI"):
            lines.append(f'void *d{number}[{_DATA_BYTES // 8}] __asm__("{name}") = TYPE("{name[len("_ZTI") :]}");')
        elif symbol.is_data:
            lines.append(f'char d{number}[{_DATA_BYTES}] __asm__("{name}") = {{0}};')
        elif constructed is not None:
            lines.append(_constructor(number, name, constructed))
        else:
            result, told = ("void *", "_cpp") if name.startswith("_Z") else ("long ", "")
            lines.append(f'{result}f{number}(void) __asm__("{name}");')
            lines.append(f'{result}f{number}(void) {{ return npuify_stand_in_called{told}("{name}"); }}')
    return "\n".join(lines) + "\n"


def constructed_class(symbol: str) -> str | None:
    """The mangled name of the class that a mangled constructor makes; None for anything else, and for templates.

    >>> constructed_class("_ZN4c10d5StoreC1Ev")
    'N4c10d5StoreE'
    """
    found = _CONSTRUCTOR.match(symbol)
    if found is None:
        return None
    rest, parts = found.group(1), 0
    while rest:
        length = re.match(r"\d+", rest)
        if length is None:
            return None
        rest, parts = rest[len(length.group()) + int(length.group()) :], parts + 1
    return f"N{found.group(1)}E" if parts > 1 else found.group(1)


def _constructor(number: int, symbol: str, class_name: str) -> str:
    entries = ", ".join(["0", f"t{number}", *["(void *)virtual_function"] * _VTABLE_ENTRIES])
    return (
        f'static void *t{number}[2] = TYPE("{class_name}");\n'
        f"static void *v{number}[] = {{ {entries} }};\n"
        f'void *f{number}(void **) __asm__("{symbol}");\n'
        f'void *f{number}(void **self) {{ *self = &v{number}[2]; return npuify_stand_in_called_cpp("{symbol}"); }}'
    )
