"""Views of what a comparison gives, which keeps the layout of a transposed tensor."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_COMPARES: Final = frozenset(("eq", "ne", "gt", "ge", "lt", "le"))
_TRANSPOSES: Final = frozenset(("t", "t_", "transpose", "permute"))


@rule(
    "NPU668",
    "view-of-transposed",
    Safety.SAFE,
    Severity.INFO,
    words=("].view(-1)",),
    without_torch=True,
    evidence=Evidence.REPORTED,
    source="pytorch/pytorch#43998, pytorch/examples#836; torch 2.13 on the CPU says so",
)
def view_of_transposed(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A comparison keeps the layout of a transposed tensor since PyTorch 1.7, so that ``view`` of its rows raises.

    So it is on the CPU and on CUDA; torch_npu 2.13 itself, asked without kernels, took such a view. ``reshape`` gives
    the same where a view is possible, and copies where it is not.

    Before::

        import torch
        guessed = torch.rand(4, 10).topk(5, 1)[1].t()
        correct = guessed.eq(torch.zeros(1, 4).expand_as(guessed))
        hits = correct[:5].view(-1).float().sum(0)

    After::

        import torch
        guessed = torch.rand(4, 10).topk(5, 1)[1].t()
        correct = guessed.eq(torch.zeros(1, 4).expand_as(guessed))
        hits = correct[:5].reshape(-1).float().sum(0)
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "view":
        return
    rows = node.func.value
    if not isinstance(rows, ast.Subscript) or not isinstance(rows.slice, ast.Slice) or rows.slice.lower is not None:
        return
    if not isinstance(rows.value, ast.Name) or not _is_compared(rows.value, file):
        return
    edit = file.rename_attribute(node.func, "reshape")
    yield file.report(
        node,
        phrase(
            "{node} raises RuntimeError on the CPU and on CUDA: what compares a transposed tensor keeps its layout",
            node=file.code(node),
        ),
        edits=[edit] if edit else [],
        subject="torch.Tensor.view",
    )


def _is_compared(name: ast.Name, file: PythonFile) -> bool:
    """Whether a name is bound to a comparison of something transposed."""
    for value in file.assigned(name):
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            continue
        if value.func.attr in _COMPARES and any(_is_transposed(one, file) for one in (value.func.value, *value.args)):
            return True
    return False


def _is_transposed(tensor: ast.expr, file: PythonFile) -> bool:
    if isinstance(tensor, ast.Name):
        return any(one is not None and _transposes(one) for one in file.assigned(tensor))
    return _transposes(tensor)


def _transposes(value: ast.expr) -> bool:
    if isinstance(value, ast.Attribute):
        return value.attr in ("T", "mT")
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _TRANSPOSES
