"""Classes of the project that define ``cuda`` or ``is_cuda`` themselves."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import msgspec

from npuify.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.source.python import PythonSource
    from npuify.words import Words

_SELF_CUDA = re.compile(rb"self\.(?:is_)?cuda\b")
_TENSOR_BASES = ("torch.Tensor", "torch.nn.Module", "torch.nn.Parameter")
_OWN_NAMES = frozenset(("cuda", "is_cuda"))
_OWN_CUDA = re.compile(
    rb"(?<!\w)def[ \t]+(?:is_)?cuda\b|self\.(?:is_)?cuda[ \t]*(?::|=[^=])|[ \t](?:is_)?cuda[ \t]*(?::|=[^=])"
)
OWN_CUDA_WORDS = (
    b"def cuda",
    b"def is_cuda",
    *(
        before + b"cuda" + after
        for before in (b"self.", b"self.is_", b" ", b"\t", b" is_")
        for after in (b" =", b":", b"=")
    ),
)


def may_define_cuda(raw: bytes, lower: bytes, words: Words | None = None) -> bool:
    """Whether a file's text may hold a class with a ``cuda`` or ``is_cuda`` of its own.

    Args:
        raw: the file's bytes.
        lower: the same in lower case.
        words: finds ``OWN_CUDA_WORDS``.
    """
    words = words or words_of(*OWN_CUDA_WORDS)
    for start, _ in words.places(lower):
        if _OWN_CUDA.match(raw, start):
            line = max(raw.rfind(b"\n", 0, start), raw.rfind(b"\r", 0, start)) + 1
            if not raw[start : start + 1].isspace() or not raw[line:start].strip():
                return True
    return False


class OwnCuda(msgspec.Struct, frozen=True):
    """A class of the project with its own ``cuda`` or ``is_cuda``."""

    qualified: str
    methods: frozenset[str]
    """``cuda`` or ``is_cuda``, where it is a method."""
    attributes: frozenset[str]
    """The same, where it is a property or another attribute."""
    is_torch: bool
    """It derives from a torch module or tensor, as far as its bases are known."""
    is_test: bool = False


def _classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    """The classes of a file, in no certain order; expressions hold none."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ClassDef):
            yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):  # the body of a lambda is an expression
                pending += inner


def own_cuda_in(source: PythonSource, *, is_test: bool) -> list[OwnCuda]:
    """The classes of a file that do, of a test file where ``is_test``."""
    found = []
    for node in _classes(source.tree):
        methods: set[str] = set()
        attributes: set[str] = set()
        for item in node.body:
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                is_property = any("property" in ast.dump(decorator) for decorator in item.decorator_list)
                (attributes if is_property else methods).add(item.name)
                if _SELF_CUDA.search(source.data, source.start(item), source.end(item)):
                    attributes |= _self_attributes(item)
            elif isinstance(item, (ast.Assign, ast.AnnAssign)):
                targets = item.targets if isinstance(item, ast.Assign) else [item.target]
                attributes |= {target.id for target in targets if isinstance(target, ast.Name)}
        methods &= _OWN_NAMES
        attributes &= _OWN_NAMES
        if methods or attributes:
            bases = [source.qualname(base, source.scope) or "" for base in node.bases]
            is_torch = any(base.startswith("torch.") or base in _TENSOR_BASES for base in bases)
            qualified = f"{source.module}.{node.name}"
            found.append(OwnCuda(qualified, frozenset(methods), frozenset(attributes), is_torch, is_test))
    return found


def _self_attributes(function: ast.AST) -> set[str]:
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
