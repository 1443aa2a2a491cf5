"""Portable spellings of imports from ``torch.cuda``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.helpers.compute_device import own_names
from npuify.language import phrase
from npuify.rules.common.edits.statements import indentation
from npuify.rules.common.helper_branches import helper

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_EXPORTED = {"torch.cuda.amp.autocast": "autocast", "torch.cuda.amp.GradScaler": "GradScaler"}
"""Names below ``torch.cuda.amp`` that the helper has at its top."""


def from_import(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``from torch.cuda.amp import autocast`` → ``from compute_device import autocast``."""
    if not isinstance(node, ast.ImportFrom) or node.module is None:
        return None
    if b"#" in file.source.data[file.source.start(node) : file.source.end(node)]:
        return "the statement contains comments"
    indent = indentation(node, file)
    if indent is None:
        return "the statement shares its line with another"
    kept: list[str] = []
    taken: list[str] = []
    assigned: list[str] = []
    for alias in node.names:
        name = f"{node.module}.{alias.name}"
        bound = alias.asname or alias.name
        if alias.name == "*":
            return "it imports everything; list the names explicitly"
        counterpart = file.release.counterpart(name) if name.startswith("torch.cuda") else None
        npu = (counterpart.npu or "") if counterpart else ""
        if not npu or npu == name:
            kept.append(_text(alias.name, alias.asname))
        elif npu != name.replace("torch.cuda", "torch.npu", 1):
            if not npu.startswith("torch.npu."):
                kept.append(_text(alias.name, alias.asname))
                continue
            root = helper(file)
            old, new = name[len("torch.cuda.") :], npu[len("torch.npu.") :]
            assigned.append(f'{bound} = {root}.api.{new} if {root}.type == "npu" else {root}.api.{old}')
        elif name == "torch.cuda":
            taken.append(_text("api", bound))
        elif name in _EXPORTED:
            taken.append(_text(_EXPORTED[name], alias.asname))
        elif node.module == "torch.cuda" and alias.name not in own_names():
            taken.append(_text(alias.name, alias.asname))
        else:
            assigned.append(f"{bound} = {helper(file)}.api.{name[len('torch.cuda.') :]}")
    lines = [f"from {node.module} import {', '.join(kept)}"] if kept else []
    if taken:
        lines.append(file.plan.names_import(file.source.relative, ", ".join(taken)))
    lines += assigned
    if not taken and not assigned:
        return None
    return [file.replace(node, (file.source.text.newline + indent).join(lines))]


def _text(name: str, asname: str | None) -> str:
    return f"{name} as {asname}" if asname and asname != name else name


def plain_import(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``import torch.cuda.amp as amp`` → ``from compute_device import amp``; ``import torch.cuda`` can stay."""
    if not isinstance(node, ast.alias) or node.asname is None:
        return None
    statement = file.parent(node)
    if not isinstance(statement, ast.Import) or len(statement.names) != 1:
        return "the statement also imports other modules"
    if b"#" in file.source.data[file.source.start(statement) : file.source.end(statement)]:
        return "the statement contains comments"
    counterpart = file.release.counterpart(node.name)
    if counterpart is None or counterpart.npu != node.name.replace("torch.cuda", "torch.npu", 1):
        return phrase("it is {value} on the NPU", value=counterpart.npu if counterpart else "not there")
    inner = node.name[len("torch.cuda") :].lstrip(".")
    if "." in inner:
        return phrase(
            "bind it by hand: {asname} = {helper}.api.{inner}", asname=node.asname, helper=helper(file), inner=inner
        )
    names = _text(inner or "api", node.asname)
    return [file.replace(statement, file.plan.names_import(file.source.relative, names))]
