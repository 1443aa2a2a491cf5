"""Whether the calls of a program bind by what a release's table says of them, where the release cannot be run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.knowledge.release.signatures import parse_schema
from npuify.source.python.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable
    from npuify.knowledge.schema import Parameter

_NPU = ("torch.npu.", "torch_npu.")


def refused_calls(before: str, after: str, table: ReleaseTable) -> Iterator[str]:
    """NPU names and calls of them that ``after`` has and ``before`` has not, and that the release lacks or refuses."""
    known = {ast.unparse(node) for node in ast.walk(parse(before)) if isinstance(node, (ast.Call, ast.Attribute))}
    for node in ast.walk(ast.parse(after)):
        text = ast.unparse(node) if isinstance(node, (ast.Call, ast.Attribute)) else ""
        if not text.startswith(_NPU) or text in known:
            continue
        if isinstance(node, ast.Call):
            forms = parameters(ast.unparse(node.func), table)
            if forms and not any(takes(one, node) for one in forms):
                yield text
        elif all(part.isidentifier() for part in text.split(".")):
            parts = text.split(".")
            shortest = 3 if parts[0] == "torch" else 2  # what a module lacks; objects may have more than is known
            if not any(table.has(".".join(parts[:length])) for length in range(len(parts), shortest - 1, -1)):
                yield text


def parameters(name: str, table: ReleaseTable) -> list[tuple[Parameter, ...]]:
    """What the name can be called with, once for each overload; empty where nothing is known."""
    signature = table.signature(name)
    if signature is not None and signature.parameters is not None:
        return [signature.parameters]
    return [parse_schema(schema) for schema in table.custom_operators.get(name.removeprefix("torch_npu."), ())]


def takes(parameters: tuple[Parameter, ...], call: ast.Call) -> bool:
    """Whether the arguments of a call fit; stars are taken to fit."""
    kinds = {one.kind for one in parameters}
    named = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
    has_star = len(named) < len(call.keywords) or any(isinstance(value, ast.Starred) for value in call.args)
    places = [one.name for one in parameters if one.kind in ("positional", "both")]
    if "kwargs" not in kinds and not {*named} <= {one.name for one in parameters if one.kind != "positional"}:
        return False
    if has_star or "args" in kinds:
        return True
    given = {*named, *places[: len(call.args)]}
    is_short = any(p.default is None and p.kind not in ("args", "kwargs") and p.name not in given for p in parameters)
    return len(call.args) <= len(places) and not is_short
