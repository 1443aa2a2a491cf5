"""What a name of ``torch.cuda`` denotes, for the rules about such names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.knowledge import Counterpart
    from npuify.rules.context import PythonFile


MODULES: Final = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "amp comm gds graphs green_contexts jiterator memory nccl nvtx profiler random sparse streams tunable"
    ).split()
)
"""Modules of torch itself that can be imported without CUDA: only what is called of them fails."""


def is_cuda_name(name: str | None) -> bool:
    """Whether a qualified name belongs to ``torch.cuda``."""
    return name is not None and (name == "torch.cuda" or name.startswith("torch.cuda."))


def cuda_chain(node: ast.Attribute | ast.Name, file: PythonFile) -> str | None:
    """The CUDA name that ``node`` denotes, if no longer chain around it denotes a known one too."""
    name = file.qualname(node)
    if not is_cuda_name(name):
        return None
    parent = file.parent(node)
    if isinstance(parent, ast.Attribute) and parent.value is node and name is not None:
        longer = file.release.counterpart(f"{name}.{parent.attr}")
        if longer is not None or not is_object(file, name):
            return None
    return name


def is_object(file: PythonFile, name: str) -> bool:
    """Whether ``name`` is a class, function or value, so that what follows it is a member, not a name of a module."""
    signature = file.release.signature(name)
    return signature is not None and signature.kind != "module"


_OTHERWISE: Final = ("returns-none", "raises", "different")
"""Effects of rows whose name is on the NPU, and is not the same function."""


def describe(counterpart: Counterpart) -> str:
    """Where the name goes, in words."""
    if counterpart.npu is None:
        return phrase("{cuda} has no counterpart", cuda=counterpart.cuda)
    if counterpart.meaning is not None and counterpart.meaning.effect in _OTHERWISE:
        # The edit is as safe as any: what differs is told beside it, of each place that it concerns.
        return phrase(
            "{cuda} is called {npu} on the NPU, where it does something else",
            cuda=counterpart.cuda,
            npu=counterpart.npu,
        )
    return phrase("{cuda} is {npu} on the NPU", cuda=counterpart.cuda, npu=counterpart.npu)
