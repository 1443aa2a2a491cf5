"""The operators of C++ and CUDA code that stands in a Python file, given to ``load_inline``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from npuify.source.native.file import Binding

if TYPE_CHECKING:
    from npuify.model import NativeOperator

DIFFICULTIES = {
    "elementwise": "each thread computes independently, so it can be written in PyTorch or Triton",
    "cooperative": "threads cooperate through shared memory or warps",
    "library": "it calls CUDA libraries",
    "tensor core": "it is written for tensor cores or in assembly",
    "unknown": "its device code was not found in the project's files",
}
"""What the difficulty of an operator means."""


def inline_operators(relative: str, data: bytes, line: int) -> tuple[NativeOperator, ...]:
    """The operators that the call of ``load_inline`` on a line makes, as far as their code stands in the file.

    Args:
        relative: the Python file's path.
        data: its text as UTF-8.
        line: the line of the call, from 1.
    """
    from npuify.rules.common.operator_calls import CallSearch
    from npuify.rules.packages.extensions.builds import builds_in
    from npuify.rules.packages.extensions.operators import Operators
    from npuify.source.native.reader import read_native

    build = next((one for one in builds_in(relative, data) if one.line == line and one.code), None)
    if build is None:
        return ()
    read = read_native("\n".join(build.code).encode("utf-8", "replace"))
    given = tuple(Binding(build.module, "", name, (name,), "", line) for name in build.functions)
    bindings = tuple(msgspec.structs.replace(one, line=line) for one in read.bindings) + given
    operators = Operators({relative: msgspec.structs.replace(read, bindings=bindings)}, [build], lambda _: data)
    calls: dict[tuple[str, str], tuple[str, ...]] = {}
    for key, place in CallSearch(operators.names()).places(relative, data):
        calls[key] = (*calls.get(key, ()), place)
    return tuple(one for one in operators.all(calls) if one.difficulty != "host")
