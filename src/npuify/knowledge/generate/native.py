"""Names that are made in C++, as far as files tell of them.

For torch the type stubs list the members of its C++ classes. torch_npu ships no stubs, so for it a member counts only
if its name stands in the shared library as a whole string, and only out of a short list of what such a class can have.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .modules import Reader
    from .wheel import Wheel

LIBRARY = "torch_npu/lib/libtorch_npu.so"

CLASS_MEMBERS: dict[str, tuple[str, ...]] = {
    "torch_npu._C._NPUStreamBase": ("npu_stream", "priority", "stream_id", "device_index", "device_type", "device"),
    "torch_npu._C._NPUEventBase": ("npu_event", "device"),
    "torch_npu._C._NPUDeviceProperties": (
        "name",
        "total_memory",
        "cube_core_num",
        "vector_core_num",
        "L2_cache_size",
        "major",
        "minor",
        "is_multi_gpu_board",
        "is_integrated",
        "multi_processor_count",
        "max_threads_per_multi_processor",
        "warp_size",
        "regs_per_multiprocessor",
        "gcnArchName",
        "uuid",
    ),
}
"""C++ class of torch_npu → members that some release has; each must be found in the library of the release read."""

_FUNCTION = re.compile(rb"\0(_npu_[a-z]+[A-Z][A-Za-z0-9_]*)\0")
"""How torch_npu spells the functions of ``torch_npu._C``: ``_npu_getDeviceCount``."""

_MARKER = {"torch_npu._C._NPUDeviceProperties": "max_threads_per_multi_processor"}
"""Short words such as ``major`` are common, so this rarer neighbour from the same list must be there as well."""

_PLAIN_PROPERTIES = ("name", "total_memory")


def library_members(wheel: Wheel) -> dict[str, list[str]]:
    """The members of :data:`CLASS_MEMBERS` that the library of ``wheel`` names."""
    data = wheel.data(LIBRARY)
    if data is None:
        return {}
    out: dict[str, list[str]] = {}
    for cls, members in CLASS_MEMBERS.items():
        marker = _MARKER.get(cls)
        if marker is not None and not _has(data, marker):
            members = _PLAIN_PROPERTIES
        out[cls] = [m for m in members if _has(data, m)]
    return out


def library_functions(wheel: Wheel) -> list[str]:
    """Names in the library that are spelt as functions of ``torch_npu._C`` are."""
    data = wheel.data(LIBRARY) or b""
    return sorted({match.decode() for match in _FUNCTION.findall(data)})


def _has(data: bytes, word: str) -> bool:
    # A linker may let one string end inside a longer one, so only the end is sure to be a zero byte.
    return word.encode() + b"\0" in data


def mentioned(reader: Reader, modules: Iterable[str], root: str) -> set[str]:
    """Dotted names below ``root`` that the code of ``modules`` uses, for example ``torch_npu._C._npu_init``."""
    found: set[str] = set()
    for module in modules:
        tree = reader.tree(module)
        if tree is None:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                name = _chain(node)
                if name is not None and name.startswith(root + "."):
                    found.add(name)
            elif isinstance(node, ast.ImportFrom) and not node.level and f"{node.module}.".startswith(root + "."):
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _chain(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None
