"""Gradients and their norms as torch had them before 1.4: of losses with one dimension, and as numbers of Python."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.packages.older_torch.scalars import STEPS, assigned_last, is_number
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_ONES: Final = frozenset(
    f"torch.{name}" for name in ("FloatTensor", "Tensor", "HalfTensor", "DoubleTensor", "tensor", "as_tensor")
)
_SIZED: Final = frozenset(("torch.ones", "torch.zeros", "torch.rand", "torch.randn"))
_MOVED: Final = frozenset(
    "cuda npu cpu to float half double mul neg type_as type clone detach requires_grad_ mul_".split()
)
"""Methods of a tensor after which it has the shape that it had."""


def _without_gradient(lower: bytes, start: int, end: int) -> bool:
    """Whether ``backward`` is given nothing there, or only keywords that every file gives it."""
    rest = lower[end : end + 40].lstrip()
    return rest.startswith((b")", b"retain_graph", b"create_graph"))


@rule(
    "NPU664",
    "gradient-of-loss",
    Safety.SAFE,
    Severity.ERROR,
    words=(".backward(",),
    skip_if=_without_gradient,
    common_words=True,
    evidence=Evidence.PACKAGE,
    source="torch/autograd/__init__.py (_make_grads) compares the shapes of a gradient and of what it belongs to",
)
def gradient_of_loss(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A loss without dimensions is given a gradient of one element, which raises RuntimeError since PyTorch 0.4.

    Programs that were written for PyTorch 0.3, where a loss had one dimension, pass ``torch.FloatTensor([1])``.

    Before::

        import torch
        one = torch.FloatTensor([1])
        loss = model(x).mean()
        loss.backward(one)

    After::

        import torch
        one = torch.FloatTensor([1])
        loss = model(x).mean()
        loss.backward(one.reshape(()))
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "backward" or not node.args:
        return
    gradient = node.args[0]
    if not _has_one_dimension(gradient, file, STEPS):
        return
    if not is_number(node.func.value, file, STEPS, by_use=False):
        return
    written = file.code(gradient)
    inner = written if isinstance(gradient, (ast.Name, ast.Attribute, ast.Call)) else f"({written})"
    yield file.report(
        node,
        phrase(
            "{node} raises RuntimeError: the loss has no dimensions since PyTorch 0.4, and the gradient has one",
            node=file.code(node),
        ),
        edits=[file.replace(gradient, f"{inner}.reshape(())")],
        subject="torch.Tensor.backward",
    )


def _has_one_dimension(tensor: ast.expr, file: PythonFile, steps: int) -> bool:
    """Whether a tensor surely has the shape ``[1]``."""
    if not steps:
        return False
    if isinstance(tensor, ast.Call):
        name = file.qualname(tensor.func)
        first = tensor.args[0] if tensor.args else None
        if name in _ONES:
            return isinstance(first, (ast.List, ast.Tuple)) and _is_one_number(first.elts)
        if name in _SIZED:
            return len(tensor.args) == 1 and isinstance(first, ast.Constant) and first.value == 1
        method = tensor.func.attr if isinstance(tensor.func, ast.Attribute) else ""
        return (
            method in _MOVED
            and isinstance(tensor.func, ast.Attribute)
            and (_has_one_dimension(tensor.func.value, file, steps))
        )
    if isinstance(tensor, ast.BinOp):
        sides = [side for side in (tensor.left, tensor.right) if not _is_number_written(side)]
        return len(sides) == 1 and _has_one_dimension(sides[0], file, steps)
    if isinstance(tensor, ast.UnaryOp):
        return _has_one_dimension(tensor.operand, file, steps)
    if not isinstance(tensor, ast.Name):
        return False
    bound = [one for one in file.assigned(tensor) if one is None or not _is_itself_moved(one, tensor.id)]
    return bool(bound) and all(one is not None and _has_one_dimension(one, file, steps - 1) for one in bound)


def _is_one_number(elements: list[ast.expr]) -> bool:
    return len(elements) == 1 and _is_number_written(elements[0])


def _is_number_written(node: ast.expr) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _is_itself_moved(value: ast.expr, name: str) -> bool:
    """Whether a name is given what it is already, on another device or of another type: ``one = one.cuda()``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVED:
        value = value.func.value
    return isinstance(value, ast.Name) and value.id == name


_CLIPS: Final = frozenset(("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_norm"))


@rule(
    "NPU665",
    "norm-is-a-tensor",
    Safety.SAFE,
    Severity.ERROR,
    words=(*(f"{module}.{name}(" for module in ("np", "numpy") for name in ("isnan", "isinf", "isfinite", "mean")),),
    also_in_file=("clip_grad_norm",),
    evidence=Evidence.REPORTED,
    source="mmcv pull request 349: clip_grad_norm returned a number before PyTorch 1.4, a tensor since",
)
def norm_is_a_tensor(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """NumPy is given what ``clip_grad_norm_`` returns: a number before PyTorch 1.4, since then a tensor on the device,
    which NumPy refuses.

    Before::

        import numpy as np
        import torch
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if np.isnan(norm):
            print("the gradient is NaN")

    After::

        import numpy as np
        import torch
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if np.isnan(float(norm)):
            print("the gradient is NaN")
    """
    name = file.qualname(node.func) or ""
    if not name.startswith("numpy.") or len(node.args) != 1:
        return
    norm = node.args[0]
    made = norm
    if isinstance(norm, ast.Name):
        last = assigned_last(norm, file)
        bound = [last] if last is not None else file.assigned(norm)
        if len(bound) != 1 or bound[0] is None:
            return
        made = bound[0]
    if not isinstance(made, ast.Call) or file.qualname(made.func) not in _CLIPS:
        return
    yield file.report(
        node,
        phrase(
            "{node} raises TypeError: since PyTorch 1.4 clip_grad_norm_ returns a tensor on the NPU, no number",
            node=file.code(node),
        ),
        edits=[file.replace(norm, f"float({file.code(norm)})")],
        subject="torch.nn.utils.clip_grad_norm_",
    )
