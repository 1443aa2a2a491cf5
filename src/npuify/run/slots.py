"""Setting an attribute of a class that was made in C.

torch.device refuses attributes, like all such classes, by a flag in the class's object. Where the flag cannot be found
for certain, nothing is done.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, cast

_IMMUTABLE = 1 << 8
"""Py_TPFLAGS_IMMUTABLETYPE, of Include/object.h since Python 3.10."""
_OFFSETS = (168, 184)
"""Of tp_flags in PyTypeObject on 64-bit systems, with and without the global lock: Doc/c-api/typeobj.rst."""


def set_attribute(kind: Any, name: str, value: Any) -> bool:
    """``kind.name = value``, also where the class refuses it; False where that cannot be done safely here."""
    with contextlib.suppress(TypeError):
        setattr(kind, name, value)
        return True
    flags = _flags(kind)
    if flags is None or not flags.value & _IMMUTABLE:
        return False
    flags.value &= ~_IMMUTABLE
    try:
        setattr(kind, name, value)
    finally:
        flags.value |= _IMMUTABLE
    return True


def _flags(kind: Any) -> Any:
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    for offset in _OFFSETS:
        found = ctypes.c_ulong.from_address(id(kind) + offset)
        # Only where two classes of different kinds both show there what Python says of them is it the right place.
        plain = ctypes.c_ulong.from_address(id(type) + offset)
        if found.value == kind.__flags__ and plain.value == cast("Any", type).__flags__:
            return found
    return None
