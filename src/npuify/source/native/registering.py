"""Operators that C++ registers by objects: ``torch::RegisterOperators("library::name", &function)``.

This is the form before ``TORCH_LIBRARY`` (torch 1.6), which torch 2.14 still has in ``torch/csrc/api`` and ``jit``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.source.native.file import Binding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

WORD: Final = b"RegisterOperators"
_MAKING: Final = re.compile(r"^(?:::)?(?:torch::(?:jit::)?|c10::)?RegisterOperators$")
_LATER: Final = re.compile(r"^(?:::)?(?:torch::(?:jit::)?|c10::)?RegisterOperators(?:\(|\{).*\.op$", re.DOTALL)
_FUNCTION: Final = re.compile(r"^&?\s*(?:\w+::)*(\w+)(?:<[^()]*>)?$")
_NAMED: Final = re.compile(r"&\s*(?:\w+::)*(\w+)")
_KEY: Final = re.compile(r"\bDispatchKey::(\w+)|\b(CUDA|CPU)TensorId\b")


def registered_operators(root: Node, data: bytes) -> Iterator[Binding]:
    """The operators of a file that it registers so.

    Args:
        root: the file's tree.
        data: its text.
    """
    if WORD not in data:
        return
    pending = [root]
    while pending:
        node = pending.pop()
        pending += reversed(node.named_children)
        arguments = _arguments(node, data)
        given = arguments.named_children if arguments is not None else []
        if len(given) < 2 or given[0].type not in ("string_literal", "concatenated_string"):
            continue
        schema = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', _text(given[0], data)))
        library, _, name = re.split(r"[\s(.]", schema, maxsplit=1)[0].rpartition("::")
        if not library or not name:
            continue
        handed = _text(given[1], data)
        plain = _FUNCTION.match(handed)
        targets = (plain.group(1),) if plain else tuple(dict.fromkeys(_NAMED.findall(handed)))
        key = _KEY.search(handed)
        yield Binding(
            module="",
            library=library,
            name=name,
            targets=targets,
            key=(key.group(1) or key.group(2)) if key else "",
            line=given[0].start_point[0] + 1,
            written=handed if "<" in handed or plain is None else "",
        )


def _arguments(node: Node, data: bytes) -> Node | None:
    """What is handed to a registration, where a node is one."""
    if node.type == "call_expression":
        function = node.child_by_field_name("function")
        called = re.sub(r"\s", "", _text(function, data)) if function is not None else ""
        if _MAKING.match(called) or _LATER.match(called):
            return node.child_by_field_name("arguments")
    elif node.type == "declaration":
        # ``static torch::RegisterOperators registry("library::name", &function);``
        kind, made = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        if kind is not None and made is not None and _MAKING.match(_text(kind, data)):
            return made.child_by_field_name("value") if made.type == "init_declarator" else None
    return None


def _text(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")
