"""What torch took for a number before 0.5: the first element of a loss, which is a tensor without dimensions since."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_LOSS: Final = re.compile(r"torch\.nn\.functional\.(?:\w*_loss\w*|cross_entropy|binary_cross_entropy\w*|kl_div)")
_NAMED: Final = re.compile(
    r"(?i)(?:.*_)?(?:\w*loss|losses|err|error|correct|acc|accuracy|nll|kl|kld|mse|bce|elbo)(?:_.*|\d*)"
)
"""What programs call a number that they train or measure by."""
_WHOLE: Final = frozenset(("sum", "mean"))
"""Methods whose result has no dimensions where they are given none."""
STEPS: Final = 6
"""Assignments and parts of an expression that are followed."""
_SPARES_DIMENSIONS: Final = frozenset(("reduction", "reduce", "size_average"))


@rule(
    "NPU662",
    "index-of-loss",
    Safety.SAFE,
    Severity.ERROR,
    words=("data[0]",),
    evidence=Evidence.DOCUMENTED,
    source="PyTorch 0.4 migration guide: losses are 0-dimensional, and indexing one raises IndexError since 0.5",
)
def index_of_loss(node: ast.Subscript, file: PythonFile) -> Iterator[Diagnostic]:
    """``loss.data[0]`` raises IndexError since PyTorch 0.5, where a loss has no dimensions; no NPU release is older.

    Told where the tensor surely is one number: ``backward()`` is called on it without a gradient, or it is a loss of
    ``torch.nn.functional`` itself, a sum or mean of everything, or a part of such a number. What is only called a loss
    may have dimensions: there the edit is to be looked at.

    Before::

        import torch
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        print(loss.data[0])

    After::

        import torch
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        print(loss.item())
    """
    tensor = node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "data" else None
    is_first = isinstance(node.slice, ast.Constant) and node.slice.value == 0 and type(node.slice.value) is int
    if tensor is None or not is_first or not isinstance(node.ctx, ast.Load):
        return
    is_sure = is_number(tensor, file, STEPS)
    if not is_sure and (not _is_called_a_number(tensor) or _has_dimensions(tensor, file)):
        return
    yield file.report(
        node,
        phrase("{node} raises IndexError: a loss has no dimensions since PyTorch 0.5", node=file.code(node))
        if is_sure
        else phrase(
            "{node} raises IndexError, if this is a number: a loss has no dimensions since PyTorch 0.5",
            node=file.code(node),
        ),
        edits=[file.edit(file.source.end(node.value) - len("data"), file.source.end(node), "item()")],
        safety=None if is_sure else Safety.REVIEW,
        severity=None if is_sure else Severity.WARNING,
        subject="loss.data[0]",
    )


def _is_called_a_number(tensor: ast.expr) -> bool:
    word = tensor.id if isinstance(tensor, ast.Name) else getattr(tensor, "attr", "")
    return _NAMED.fullmatch(word) is not None


def _has_dimensions(tensor: ast.expr, file: PythonFile) -> bool:
    """Whether ``backward`` is given a gradient for it."""
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "backward"
        and bool(call.args)
        and file.code(call.func.value) == file.code(tensor)
        for call in file.nodes_on_lines_with("backward")
    )


def is_number(tensor: ast.expr, file: PythonFile, steps: int, *, by_use: bool = True) -> bool:
    """Whether a tensor surely has one element: by what made it, or by what is done with it.

    Args:
        by_use: what is done with it counts, too; it takes one element, but not the lack of dimensions.
    """
    if not steps:
        return False
    if isinstance(tensor, ast.Call):
        if isinstance(tensor.func, ast.Attribute) and tensor.func.attr in _WHOLE and not tensor.keywords:
            name = file.qualname(tensor.func) or ""
            return len(tensor.args) == (1 if name.startswith("torch.") else 0) and not name.startswith("numpy")
        whole = not any(keyword.arg in (None, *_SPARES_DIMENSIONS) for keyword in tensor.keywords)
        return whole and _LOSS.fullmatch(file.qualname(tensor.func) or "") is not None
    if isinstance(tensor, ast.BinOp):
        sides = [side for side in (tensor.left, tensor.right) if not isinstance(side, ast.Constant)]
        return bool(sides) and all(is_number(side, file, steps - 1, by_use=by_use) for side in sides)
    if not isinstance(tensor, (ast.Name, ast.Attribute)):
        return False
    if by_use and (_is_trained_by(tensor, file) or _is_part_of_number(tensor, file)):
        return True
    last = assigned_last(tensor, file)
    if last is not None:
        return is_number(last, file, steps - 1, by_use=by_use)
    bound = file.assigned(tensor) if isinstance(tensor, ast.Name) else []
    return bool(bound) and all(one is not None and is_number(one, file, steps - 1, by_use=by_use) for one in bound)


def assigned_last(name: ast.expr, file: PythonFile) -> ast.expr | None:
    """What a name was given by the last statement before a place that binds it, where that surely came before: it
    stands in the same block, or in one around it, and no loop or branch between them binds the name again."""
    if not isinstance(name, ast.Name):
        return None
    current: ast.AST = name
    for up in file.ancestors(name):
        for block in (getattr(up, field, None) for field in ("body", "orelse", "finalbody")):
            if not isinstance(block, list) or current not in block:
                continue
            for statement in reversed(block[: block.index(current)]):
                bound = [one for one in ast.walk(statement) if _binds(one, name.id)]
                if not bound:
                    continue
                is_plain = isinstance(statement, ast.Assign) and statement.targets == bound
                return statement.value if is_plain and isinstance(statement, ast.Assign) else None
        if isinstance(up, (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return None  # an earlier turn of the loop may have bound it
        if isinstance(up, ast.Try) and current not in up.body:
            return None  # what the tried statements bound counts, or not
        current = up
    return None


def _binds(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _is_part_of_number(tensor: ast.expr, file: PythonFile) -> bool:
    """Whether a tensor is added to others, and the sum has one element."""
    written, scope = file.code(tensor), file.scope(tensor)
    for node in file.nodes_on_lines_with(written.rpartition(".")[2]):
        if (
            not isinstance(node, ast.BinOp)
            or file.scope(node) is not scope
            or not isinstance(node.op, (ast.Add, ast.Sub))
        ):
            continue
        if written not in (file.code(node.left), file.code(node.right)):
            continue
        whole: ast.AST = node
        around = file.parent(whole)
        while isinstance(around, ast.BinOp) and isinstance(around.op, (ast.Add, ast.Sub)):
            whole, around = around, file.parent(around)
        if isinstance(around, ast.Assign) and len(around.targets) == 1 and isinstance(around.targets[0], ast.Name):
            if file.code(around.targets[0]) != written and _is_trained_by(around.targets[0], file):
                return True
    return False


def _is_trained_by(tensor: ast.expr, file: PythonFile) -> bool:
    """Whether ``backward()`` is called on it without a gradient, which only a tensor of one element takes."""
    written = file.code(tensor)
    scope = file.scope(tensor)
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "backward"
        and not call.args
        and not any(keyword.arg in (None, "gradient") for keyword in call.keywords)
        and file.code(call.func.value) == written
        and file.scope(call) is scope
        for call in file.nodes_on_lines_with("backward")
    )
