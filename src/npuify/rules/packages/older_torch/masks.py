"""Masks as older programs make and use them: numbers that are subtracted from, and bytes in place of truth values."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_COMPARING: Final = frozenset(
    "ne eq gt lt ge le isnan isfinite isinf logical_and logical_or logical_not logical_xor".split()
)
"""Methods of tensors, and functions of torch, that give truth values."""
_MASKING: Final = frozenset(("masked_fill", "masked_fill_", "masked_select", "masked_scatter", "masked_scatter_"))
_FROM_ONE: Final = re.compile(r"1[ \t]*-[ \t]*")
_MAKING: Final = frozenset("zeros ones empty full tensor zeros_like ones_like empty_like full_like as_tensor".split())
_BEHIND: Final = re.compile(rb"[\s(]{0,20}([^\W\d]\w{0,60})([^\n]{0,200})")
_FAR: Final = 4000
"""Bytes before a subtraction in which its mask is looked for: all of a long file for each one would take too long."""
_COMPARES: Final = re.compile(rb"[<>]|[=!]=|~|\.(?:bool|eq|ne|gt|lt|ge|le|is\w+|logical_\w+)\(")
_GIVEN: Final = re.compile(rb"[ \t]{0,9}=(?!=)[^\n]{0,200}(?:%b)" % _COMPARES.pattern)
_LONGER: Final = re.compile(rb"\w")


def _no_mask(lower: bytes, start: int, end: int) -> bool:
    """Whether the text shows that what is subtracted is no mask: no comparison stands there, or is given its name."""
    behind = _BEHIND.match(lower, end)
    if behind is None or _COMPARES.search(behind[2]) is not None:
        return behind is None
    # A pattern made of the name would be compiled for each of them.
    name, first = behind[1], max(start - _FAR, 0)
    at = lower.find(name, first, start)
    while at >= 0:
        is_whole = at == first or _LONGER.match(lower, at - 1) is None
        if is_whole and _GIVEN.match(lower, at + len(name), start) is not None:
            return False
        at = lower.find(name, at + 1, start)
    return True


def _has_bytes(data: bytes, project: ProjectIndex) -> bool:
    """Whether a file speaks of bytes at all."""
    del project
    return b"byte" in data or b"Byte" in data or b"uint8" in data


@rule(
    "NPU672",
    "subtracted-mask",
    Safety.SAFE,
    Severity.WARNING,
    words=("1 - ", "1-", "1) - ", "1.0 - ", "1. - "),
    skip_if=_no_mask,
    common_words=True,
    evidence=Evidence.PACKAGE,
    source="torch 2.13 refuses it on the CPU: subtraction with a bool tensor is not supported",
)
def subtracted_mask(node: ast.BinOp, file: PythonFile) -> Iterator[Diagnostic]:
    """``1 - mask``, where the mask is what a comparison of tensors gives: a truth value since PyTorch 1.2, of which
    nothing can be subtracted. ``~mask`` is its opposite.

    Told where the mask surely is one, by all that is assigned to its name. Whether torch_npu's own kernel refuses it,
    too, was not seen on an NPU; the inverse is the same everywhere.

    Before::

        import torch
        x = torch.ones(4)
        mask = x > 0
        rest = 1 - mask

    After::

        import torch
        x = torch.ones(4)
        mask = x > 0
        rest = ~mask
    """
    if not isinstance(node.op, ast.Sub):
        return
    taken = next((side for side in (node.right, node.left) if _is_surely(side, file, _gives_truth)), None)
    if taken is None:
        return
    edits = []
    if taken is node.right and isinstance(node.left, ast.Constant) and node.left.value == 1:
        start = file.source.start(node)
        written = _FROM_ONE.match(file.source.segment(start, file.source.end(node)))
        if written is not None:
            edits = [file.edit(start, start + len(written[0]), "~")]
    yield file.report(
        node,
        phrase(
            "{node} raises RuntimeError on the CPU and on CUDA: {mask} holds truth values",
            node=file.code(node),
            mask=file.code(taken),
        ),
        edits=edits,
        subject="torch.Tensor.__sub__",
        advice="" if edits else "write ~mask for the opposite of a mask, or make numbers of it first",
    )


@rule(
    "NPU673",
    "mask-of-bytes",
    Safety.SAFE,
    Severity.WARNING,
    words=tuple(f".{name}(" for name in sorted(_MASKING)),
    concerns=_has_bytes,
    common_words=True,
    evidence=Evidence.PACKAGE,
    source="torch 2.13 refuses it on the CPU: masked_fill_ only supports boolean masks",
)
def mask_of_bytes(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``masked_fill``, ``masked_select`` and ``masked_scatter`` take masks of truth values only, none of bytes.

    Told where the mask surely holds bytes, by all that is assigned to its name. Whether torch_npu's own kernels refuse
    them, too, was not seen on an NPU; a mask of truth values is the same everywhere.

    Before::

        import torch
        x = torch.ones(4)
        mask = (x > 0).byte()
        y = x.masked_fill(mask, 0.0)

    After::

        import torch
        x = torch.ones(4)
        mask = (x > 0).byte()
        y = x.masked_fill(mask.bool(), 0.0)
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _MASKING:
        return
    given = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "mask")]
    if not given or not _is_surely(given[0], file, _gives_bytes):
        return
    end = file.source.end(given[0])
    yield file.report(
        node,
        phrase(
            "{mask} holds bytes, and {method} takes truth values only", mask=file.code(given[0]), method=node.func.attr
        ),
        edits=[file.edit(end, end, ".bool()")],
        subject=f"torch.Tensor.{node.func.attr}",
    )


def _is_surely(node: ast.expr, file: PythonFile, gives: Callable[[ast.expr, PythonFile], bool]) -> bool:
    """Whether an expression, or all that is assigned to a name, gives a mask of some kind."""
    if not isinstance(node, ast.Name):
        return gives(node, file)
    around: ast.AST = node
    while not isinstance(around, ast.stmt):
        above = file.parent(around)
        if above is None:
            return False
        around = above
    own = around.value if isinstance(around, ast.Assign) else None  # mask = 1 - mask
    bound = [one for one in file.assigned(node) if one is None or one is not own]
    return bool(bound) and all(one is not None and gives(one, file) for one in bound)


def _gives_truth(node: ast.expr, file: PythonFile) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and _is_surely(node.operand, file, _gives_truth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        return all(_is_surely(side, file, _gives_truth) for side in (node.left, node.right))
    if isinstance(node, ast.Compare):
        is_single = len(node.ops) == 1 and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
        return is_single and any(_is_tensor(side, file) for side in (node.left, node.comparators[0]))
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr == "bool" and not node.args:
        return _is_tensor(function.value, file)
    if function.attr not in _COMPARING:
        return _has_type(node, ("torch.bool",), file)
    return file.qualname(function) == f"torch.{function.attr}" or _is_tensor(function.value, file)


def _gives_bytes(node: ast.expr, file: PythonFile) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if file.qualname(node.func) == "torch.ByteTensor":
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr == "byte" and not node.args:
        return _is_tensor(node.func.value, file) or _is_surely(node.func.value, file, _gives_truth)
    return _has_type(node, ("torch.uint8",), file)


def _has_type(call: ast.Call, types: tuple[str, ...], file: PythonFile) -> bool:
    """Whether a call makes a tensor of one of these types, or turns one into it."""
    name = file.qualname(call.func) or ""
    if name.startswith("torch.") and name.removeprefix("torch.") in _MAKING:
        return any(one.arg == "dtype" and file.qualname(one.value) in types for one in call.keywords)
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "type") and _is_tensor(call.func.value, file):
        return any(file.qualname(one) in types for one in call.args[:1])
    return False


def _is_tensor(node: ast.expr, file: PythonFile) -> bool:
    return file.values(node).only(Kind.TENSOR)
