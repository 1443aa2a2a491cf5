"""Tensors that are indexed with a mask, so that the host waits for the NPU to learn how many elements are left."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.arguments import parameter_for
from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch
from npuify.rules.operators.places import function_of_step, in_module_class
from npuify.rules.registry import rule
from npuify.rules.text_checks import outside_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_COMPARING = frozenset("ne eq gt lt ge le isnan isfinite isinf logical_and logical_or logical_not logical_xor".split())
"""Functions and methods of tensors that make masks."""
_INDEXED = (b"mask]", b"[m]")
"""How something is indexed with what a function is given."""
_ASSIGNED = re.compile(rb"\s+(\w+)\s*(?::[^=]+)?=(?!=)")
_BEFORE_NAME = re.compile(rb"[\w)\]]\[~?\Z")
_USED = re.compile(rb"(?:\.bool\(\))?[],](?!\s*[-+*/]?=[^=])")
"""How a mask is used as an index, and nothing stored there, which needs no shape: what stands behind its name."""
_STORED = re.compile(rb"\]\s*[-+*/|&]?=[^=]")
_DEFINES = re.compile(rb"\n(?:    )?def ")
_FAR = 4000
"""Bytes behind a mask in which its use is looked for."""


def _no_mask(lower: bytes, start: int, end: int) -> bool:
    """Whether the text around a comparison says that nothing is indexed with it in a step."""
    if lower[start:end] in _INDEXED:
        return _STORED.match(lower, end - 1) is not None or outside_steps(lower, start, end)
    begin = lower.rfind(b"\n", 0, start) + 1
    before = lower[begin : start + 1]
    if before.count(b"[") > before.count(b"]"):
        line = lower[begin : lower.find(b"\n", end)]
        return b" for " in before or _STORED.search(line) is not None or outside_steps(lower, start, end)
    assigned = _ASSIGNED.match(before)
    if assigned is None:
        return True
    rest = lower[end : end + _FAR]
    function_ends = _DEFINES.search(rest)
    is_used = _is_used_as_index(assigned[1], rest, function_ends.start() if function_ends else len(rest))
    return not is_used or outside_steps(lower, start, end)


def _is_used_as_index(name: bytes, text: bytes, end: int) -> bool:
    """Whether something is indexed with a name. A pattern made of the name would be compiled for each of them."""
    at = text.find(name, 0, end)
    while at >= 0:
        behind = at + len(name)
        if _BEFORE_NAME.search(text, max(at - 3, 0), at) is not None and _USED.match(text, behind, end) is not None:
            return True
        at = text.find(name, behind, end)
    return False


@rule(
    "NPU413",
    "boolean-mask-index",
    Safety.MANUAL,
    Severity.INFO,
    words=(
        *(" != ", " == ", " > ", " < ", " >= ", " <= ", ".ne(", ".eq(", ".gt(", ".lt(", ".ge(", ".le(", "[~"),
        *("isnan(", "isfinite(", "isinf(", "logical_and(", "logical_or(", "logical_not(", ".bool()"),
        *("mask]", "[m]"),
    ),
    skip_if=_no_mask,
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source="PyTorch indexes by a boolean tensor through nonzero, which waits for the device",
)
def boolean_mask_index(node: ast.Subscript | ast.Assign, file: PythonFile) -> Iterator[Diagnostic]:
    """A tensor is indexed with a boolean mask in a model's forward pass, a loss or a sampler, so that the shape of
    the result depends on the data.

    Reported once for each function, where the mask is visibly the result of a comparison, and only in files that are
    examined anyway.
    """
    if not imports_torch(file):
        return
    function = next(
        (up for up in file.ancestors(node) if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef))), None
    )
    if function is None or file.recall(("NPU413", function)):
        return
    if isinstance(node, ast.Subscript):
        found = node if _is_index(node.slice, file) or _is_given_mask(node.slice, function, file) else None
    else:
        found = _indexed_with(node, function, file)
    if found is None or not isinstance(found.ctx, ast.Load):
        return
    in_step = in_module_class(found, file) or function_of_step(found, file) is not None
    if not in_step or not _may_be_tensor(found.value, file):
        return
    file.remember(("NPU413", function), True)
    yield file.report(
        found,
        phrase(
            "indexing with the mask {mask}: the shape of the result depends on the data, so the host waits for the NPU",
            mask=file.code(found.slice),
        ),
        subject="torch.Tensor.__getitem__",
        advice="if this runs in every step, keep the shape: torch.where, masked_fill, or a mask-weighted sum",
    )


def _is_index(index: ast.expr, file: PythonFile) -> bool:
    """Whether an index is a mask: a comparison of tensors, or the inverse of anything."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.Invert):
        return True
    return not isinstance(first, ast.Name) and _is_mask(first, file)


def _is_given_mask(index: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef, file: PythonFile) -> bool:
    """Whether an index is a parameter that a caller in the file gives a mask: ``pick(x, x > 0)``."""
    if not isinstance(index, ast.Name):
        return False
    arg = next((one for one in (*function.args.args, *function.args.kwonlyargs) if one.arg == index.id), None)
    if arg is None:
        return False
    for name in file.model.references(function.name):
        call = file.model.parent(name)
        if not isinstance(call, ast.Call) or call.func is not name:
            continue
        taken = int(isinstance(name, ast.Attribute) and isinstance(file.model.parent(function), ast.ClassDef))
        given = next(
            (
                one
                for one in (*call.args, *(word.value for word in call.keywords))
                if parameter_for(one, call, function, taken) is arg
            ),
            None,
        )
        made = file.assigned(given) if isinstance(given, ast.Name) else [given]
        if any(one is not None and _is_mask(one, file) for one in made):
            return True
    return False


def _indexed_with(node: ast.Assign, function: ast.AST, file: PythonFile) -> ast.Subscript | None:
    """The first place at which something is indexed with the mask that a statement makes."""
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, ast.Name) or not _is_mask(node.value, file):
        return None
    # Only its function is looked through: to see all that mentions a name, the file would have to be parsed.
    for use in _reads(function, file).get(target.id, ()):
        up: ast.AST | None = use
        parent = file.parent(use)
        if isinstance(parent, ast.Attribute) and parent.attr == "bool":
            up, parent = file.parent(parent), file.parent(file.parent(parent) or parent)
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Invert):
            up, parent = parent, file.parent(parent)
        if isinstance(parent, ast.Tuple) and parent.elts[:1] == [up]:
            up, parent = parent, file.parent(parent)
        if isinstance(parent, ast.Subscript) and parent.slice is up and isinstance(parent.ctx, ast.Load):
            return parent
    return None


def _reads(function: ast.AST, file: PythonFile) -> dict[str, list[ast.Name]]:
    """Where a function reads which names, in order; found once for all that it assigns."""
    key = ("reads_of_names", function)
    known: dict[str, list[ast.Name]] | None = file.recall(key)
    if known is None:
        file.model.look_into(function)
        known = file.remember(key, {})
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                known.setdefault(node.id, []).append(node)
    return known


def _is_mask(value: ast.expr, file: PythonFile) -> bool:
    """Whether an expression compares tensors element by element, as far as can be seen."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Invert):
        return True
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.BitAnd, ast.BitOr)):
        return _is_mask(value.left, file) and _is_mask(value.right, file)
    if isinstance(value, ast.Call):
        function = value.func
        word = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if word == "bool" and isinstance(function, ast.Attribute) and not value.args:
            return True
        name = file.qualname(function) or "torch."
        return word in _COMPARING and name.startswith("torch.")
    if not isinstance(value, ast.Compare) or len(value.ops) != 1:
        return False
    if isinstance(value.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
        return False
    sides = (value.left, value.comparators[0])
    return not any(isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes)) for side in sides)


def _may_be_tensor(node: ast.expr, file: PythonFile) -> bool:
    """Whether what is indexed is a tensor, or may be: no list or dictionary takes a mask."""
    values = file.values(node)
    # An attribute that is not known may be a list, which takes what is true for 1.
    return values.only(Kind.TENSOR) or (isinstance(node, ast.Name) and values.may(Kind.BATCH, Kind.UNKNOWN))
