"""Portable spellings of names of ``torch.cuda``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.rules.common.edits.statements import needs_parentheses
from npuify.rules.common.helper_branches import helper
from npuify.styles.spelling import chain_span, in_annotation

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

ACCELERATOR: Final = {
    "torch.cuda.is_available": "is_available",
    "torch.cuda.device_count": "device_count",
    "torch.cuda.synchronize": "synchronize",
    "torch.cuda.current_device": "current_device_index",
    "torch.cuda.set_device": "set_device_index",
}
"""Functions that ``torch.accelerator`` has with the same meaning, called with positional arguments only."""
_DECIDE: Final = ("torch.cuda.is_available", "torch.cuda.device_count")
"""Functions by whose answer a program chooses its device. ``torch.accelerator`` says yes for devices of other makers
as well, which the helper does not name, so these are asked of both or of neither."""


def name(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``torch.cuda.synchronize`` → ``torch.accelerator.synchronize`` or ``compute_device.api.synchronize``."""
    if not isinstance(node, ast.Attribute):
        return "it comes from an `import *`; list the names explicitly"
    module = cuda_module(node, file)
    if module is None:
        # An alias: the import changes instead, unless the last part has another name on the NPU.
        return _renamed(node, diagnostic, file) if _other_name(diagnostic, file) else None
    if _other_name(diagnostic, file):
        return _renamed(node, diagnostic, file)
    target = accelerator_name(node, diagnostic.subject, file)
    if target is not None:
        whole = chain_span(node, file)
        return [file.edit(*whole, f"{file.code(module.value)}.accelerator.{target}")] if whole else _UNFOUND
    span = chain_span(module, file)
    if span is None:
        return _UNFOUND
    return [file.edit(*span, f"{helper(file)}.api")]


_UNFOUND: Final = "this spelling cannot be edited in place"


def cuda_module(node: ast.Attribute, file: PythonFile) -> ast.Attribute | None:
    """The ``torch.cuda`` in a chain, where it is spelled out; torch may be another module's name (``compat.torch``)."""
    current: ast.expr = node
    while isinstance(current, ast.Attribute):
        if current.attr == "cuda" and _is_torch(current.value, file):
            return current
        current = current.value
    return None


def _is_torch(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is the module ``torch``, also where another file of the project has imported it."""
    if file.qualname(node) == "torch":
        return True
    sole = file.values(node, Reach.IMPORTS).sole if isinstance(node, ast.Attribute) else None
    return sole is not None and sole.kind is Kind.TORCH_MODULE and sole.name == "torch"


def accelerator_name(node: ast.Attribute, name: str, file: PythonFile) -> str | None:
    """What ``torch.accelerator`` of the lowest torch calls a function, where this call may be one of it."""
    plan = file.plan
    target = ACCELERATOR.get(name)
    call = file.parent(node)
    if target is None or target not in plan.accelerator or not isinstance(call, ast.Call) or call.func is not node:
        return None
    if call.keywords or (name in _DECIDE and not plan.pure):
        return None
    return target


def _other_name(diagnostic: Diagnostic, file: PythonFile) -> bool:
    counterpart = file.release.counterpart(diagnostic.subject)
    new = (counterpart.npu or "") if counterpart else ""
    return new != diagnostic.subject.replace("torch.cuda", "torch.npu", 1)


def _renamed(node: ast.Attribute, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``CUDAGraph`` is ``NPUGraph``: an expression that takes the one or the other."""
    counterpart = file.release.counterpart(diagnostic.subject)
    new = (counterpart.npu or "") if counterpart else ""
    if not new.startswith("torch.npu."):
        return None if new.startswith("torch.") else _UNFOUND
    if not isinstance(node.ctx, ast.Load):
        return phrase("it is {new} on the NPU; set the one or the other by {helper}.type", new=new, helper=helper(file))
    if in_annotation(node, file):
        return "a type annotation cannot be chosen at run time; write it as a string, or remove it"
    parent = file.parent(node)
    if isinstance(parent, (ast.ClassDef, ast.withitem)) or (isinstance(parent, ast.Tuple) and _is_caught(parent, file)):
        return phrase("it is {new} on the NPU; choose by {helper}.type", new=new, helper=helper(file))
    span = chain_span(node, file)
    if span is None or any(isinstance(up, ast.JoinedStr) for up in file.ancestors(node)):
        return _UNFOUND
    old = file.source.segment(*span)
    root = helper(file)
    text = f'{root}.api{new[len("torch.npu") :]} if {root}.type == "npu" else {old}'
    if needs_parentheses(node, file) or not isinstance(parent, (ast.Assign, ast.Return, ast.keyword)):
        text = f"({text})"
    return [file.edit(*span, text)]


def _is_caught(node: ast.AST, file: PythonFile) -> bool:
    return isinstance(file.parent(node), ast.ExceptHandler)
