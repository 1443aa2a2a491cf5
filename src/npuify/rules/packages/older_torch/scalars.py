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
_EACH: Final = frozenset("div mul add sub sqrt log exp abs neg float cpu cuda detach clone".split())
"""Methods whose result has the dimensions of their tensor, where they are given numbers."""
_SPARES_DIMENSIONS: Final = frozenset(("reduction", "reduce"))
_MOVES: Final = frozenset(("cuda", "npu", "cpu", "to", "float", "half", "double"))
_LAYER: Final = re.compile(r"torch\.nn\.\w+Loss")
_MEASURES: Final = re.compile(r"(?i)(?:.*_)?(?:criterion\w*|crit|objective|loss_?f\w*|\w*loss\w*)")
"""What programs call a function that says how wrong a model is."""


@rule(
    "NPU662",
    "index-of-loss",
    Safety.SAFE,
    Severity.ERROR,
    words=(".data[0]",),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="PyTorch 0.4 migration guide: losses are 0-dimensional, and indexing one raises IndexError since 0.5",
)
def index_of_loss(node: ast.Subscript, file: PythonFile) -> Iterator[Diagnostic]:
    """``loss.data[0]`` raises IndexError since PyTorch 0.5, where a loss has no dimensions; no NPU release is older.

    Told where the tensor surely is one number: ``backward()`` is called on it without a gradient, or it is a loss of
    ``torch.nn.functional`` or one of its layers, a sum or mean of everything, or a part of such a number. What is only
    called a loss, or added to what is called one, may have dimensions: there the edit is to be looked at.

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
    if not is_sure:
        is_called = _is_called_a_number(tensor) or _is_added_to_number(node, file)
        is_called = is_called or _sum_of_numbers(tensor, file) is not None
        if not is_called or _has_dimensions(tensor, file):
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
    if isinstance(tensor, ast.Call):
        return _MEASURES.fullmatch(_word(tensor.func)) is not None
    return _NAMED.fullmatch(_word(tensor)) is not None


def _word(node: ast.expr) -> str:
    """The last part of a name."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _is_added_to_number(node: ast.expr, file: PythonFile) -> bool:
    """Whether a value, or it times something, is added to what starts as a number or is called one."""
    around = file.parent(node)
    while isinstance(around, ast.UnaryOp) or (
        isinstance(around, ast.BinOp) and isinstance(around.op, (ast.Mult, ast.Div))
    ):
        around = file.parent(around)
    if not isinstance(around, ast.AugAssign):
        return False
    if _NAMED.fullmatch(_word(around.target)) is not None:
        return True
    bound = _bound_here(around.target, file) if isinstance(around.target, ast.Name) else []
    return any(isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant) for one in bound)


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
        if isinstance(tensor.func, ast.Attribute) and tensor.func.attr in _EACH and not tensor.keywords:
            return all(_is_plain(one, file) for one in tensor.args) and is_number(
                tensor.func.value, file, steps - 1, by_use=by_use
            )
        if not _is_reduced(tensor):
            return False
        name = file.qualname(tensor.func) or ""
        return _LOSS.fullmatch(name) is not None or _is_loss_layer(tensor.func, file)
    if isinstance(tensor, ast.BinOp):
        sides = [side for side in (tensor.left, tensor.right) if not _is_plain(side, file)]
        return bool(sides) and all(is_number(side, file, steps - 1, by_use=by_use) for side in sides)
    if not isinstance(tensor, (ast.Name, ast.Attribute)):
        return False
    if by_use and (_is_trained_by(tensor, file) or _is_part_of_number(tensor, file)):
        return True
    last = assigned_last(tensor, file)
    if last is not None:
        return is_number(last, file, steps - 1, by_use=by_use)
    bound = file.assigned(tensor) if isinstance(tensor, ast.Name) else []
    if any(one is None for one in bound):
        return _sum_of_numbers(tensor, file) is True
    return bool(bound) and all(one is not None and is_number(one, file, steps - 1, by_use=by_use) for one in bound)


def _is_plain(value: ast.expr, file: PythonFile, steps: int = STEPS) -> bool:
    """Whether an expression is a number of Python: ``2``, ``math.log(2)``, ``x.size(0)``, a name for one."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute):
            module = value.func.value
            return (isinstance(module, ast.Name) and module.id == "math") or (
                value.func.attr == "size" and len(value.args) == 1
            )
        return isinstance(value.func, ast.Name) and value.func.id in ("len", "float", "int")
    if isinstance(value, ast.UnaryOp):
        return _is_plain(value.operand, file, steps)
    if isinstance(value, ast.Name) and steps:
        bound = _bound_here(value, file)
        return bool(bound) and all(_is_plain(one.value, file, steps - 1) for one in bound)
    return isinstance(value, ast.Constant) and isinstance(value.value, (int, float))


def _bound_here(name: ast.Name, file: PythonFile) -> list[ast.Assign | ast.AugAssign]:
    """The assignments to a name in its function; none, where something else binds it there, too."""
    scope = file.scope(name)
    found = [
        node
        for node in file.nodes_on_lines_with(name.id)
        if isinstance(node, (ast.Assign, ast.AugAssign))
        and file.scope(node) is scope
        and any(_binds(target, name.id) for target in (node.targets if isinstance(node, ast.Assign) else [node.target]))
    ]
    return found if len(found) == len(file.assigned(name)) else []


def _sum_of_numbers(tensor: ast.expr, file: PythonFile) -> bool | None:
    """Of a name that starts as a number of Python and has tensors without dimensions added to it: whether it surely has
    none itself; None for any other."""
    if not isinstance(tensor, ast.Name):
        return None
    is_one, is_sure = False, True
    for node in _bound_here(tensor, file):
        if _is_plain(node.value, file):
            continue
        if isinstance(node, ast.Assign):
            return None
        is_number_too = is_number(node.value, file, STEPS - 2, by_use=False)
        is_one, is_sure = is_one or is_number_too, is_sure and is_number_too
    return is_sure if is_one else None


def _is_reduced(call: ast.Call) -> bool:
    """Whether a loss, or the layer that computes it, is not told to keep dimensions."""
    return not any(keyword.arg in (None, *_SPARES_DIMENSIONS) for keyword in call.keywords)


def _is_loss_layer(layer: ast.expr, file: PythonFile) -> bool:
    """Whether what is called surely is a layer of PyTorch that gives one number, wherever it was moved."""
    bound = [layer] if isinstance(layer, ast.Call) else file.assigned(layer) if isinstance(layer, ast.Name) else []
    made = [one for one in bound if one is None or not _is_itself_moved(one, _word(layer))]
    return bool(made) and all(one is not None and _makes_loss_layer(one, file) for one in made)


def _makes_loss_layer(made: ast.expr, file: PythonFile) -> bool:
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in _MOVES:
        made = made.func.value
    return (
        isinstance(made, ast.Call)
        and _is_reduced(made)
        and _LAYER.fullmatch(file.qualname(made.func) or "") is not None
    )


def _is_itself_moved(value: ast.expr, name: str) -> bool:
    """``criterion = criterion.cuda()``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    return isinstance(value, ast.Name) and value.id == name


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
