"""Types that HCCL hands round, and does not reduce."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument, keyword_of
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_REDUCES: Final = {
    "all_reduce": (0, "tensor"),
    "reduce": (0, "tensor"),
    "reduce_scatter": (1, "input_list"),
    "reduce_scatter_tensor": (1, "input"),
    "nn.all_reduce": (0, "tensor"),
    "nn.functional.all_reduce": (0, "tensor"),
}
"""Collective of torch.distributed → where what it reduces stands."""
_DOUBLE: Final = frozenset(("torch.float64", "torch.double"))
_KEEPS: Final = frozenset("cuda npu to clone detach contiguous view reshape unsqueeze squeeze flatten".split())
"""Methods whose result has the type of what they are called on, as far as they are given none."""
_JOINS: Final = frozenset(("torch.stack", "torch.cat", "torch.concat", "torch.hstack", "torch.vstack"))
"""Functions whose result has the type of the tensors that they are given a list of."""
_STEPS: Final = 6


@rule(
    "NPU327",
    "float64-reduced",
    Safety.REVIEW,
    Severity.ERROR,
    words=tuple(f"{name}(" for name in ("all_reduce", ".reduce", "reduce_scatter", "reduce_scatter_tensor")),
    names=tuple(f"torch.distributed.{name}" for name in _REDUCES),
    applies_to_chip=lambda product: product is None or product.name != "950",
    evidence=Evidence.PACKAGE,
    source="Ascend/pytorch, ProcessGroupHCCL.cpp, checkSupportedDataType; ToKernelNpu.cpp for x.double()",
)
def float64_reduced(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """HCCL reduces no ``float64``, on any chip but the Ascend950: "Unsupported data type at::kDouble".

    Broadcasts and gathers take it. ``x.double()`` of a tensor that is on the NPU already is no such tensor: torch_npu
    makes it ``float32``. Sums of counts that go beyond 2**24 lose their last digits in ``float32``.

    Before::

        import torch
        import torch.distributed as dist
        total = torch.tensor([3, 0.5], dtype=torch.float64, device="cuda")
        dist.all_reduce(total)

    After::

        import torch
        import torch_npu  # noqa: F401
        import torch.distributed as dist
        total = torch.tensor([3, 0.5], dtype=torch.float32, device="npu")
        dist.all_reduce(total)
    """
    name = (file.qualname(node.func) or "").removeprefix("torch.distributed.")
    if name not in _REDUCES:
        return
    given = argument(node, *_REDUCES[name])
    dtype = _double_on_device(given, file, _STEPS) if given is not None else None
    if dtype is None:
        return
    yield file.report(
        node,
        "HCCL reduces no float64",
        edits=[file.replace(dtype, "torch.float32")] if file.code(dtype) in _DOUBLE else (),
        subject=f"torch.distributed.{name}",
        advice="make the tensor in float32, or reduce it on the CPU in a gloo group",
    )


def _double_on_device(node: ast.expr, file: PythonFile, steps: int, *, moved: bool = False) -> ast.expr | None:
    """Where a tensor that is float64 on the device is given its type; None where that is not known.

    Args:
        node: the tensor.
        file: its file.
        steps: how many calls and names to go back.
        moved: whether it goes to the device after this.
    """
    if not steps:
        return None
    if isinstance(node, ast.Name):
        made = _made(node, file)
        return _double_on_device(made, file, steps - 1, moved=moved) if made is not None else None
    if not isinstance(node, ast.Call):
        return None
    function, dtype = node.func, keyword_of(node, "dtype")
    if file.qualname(function) in _JOINS:
        parts = _parts(node.args[0], file) if node.args else []
        found = (_double_on_device(part, file, steps - 1, moved=moved) for part in parts)
        return next((one for one in found if one is not None), None)
    if (file.qualname(function) or "").startswith("torch."):
        device = keyword_of(node, "device")
        there = moved if device is None else not _is_cpu(device, file)
        return dtype if there and dtype is not None and _is_double(dtype, file) else None
    if not isinstance(function, ast.Attribute) or function.attr not in (*_KEEPS, "double"):
        return None
    if function.attr == "double":
        # On the device it becomes float32.
        return node if moved and _is_on_cpu(function.value, file) else None
    moves = function.attr in ("cuda", "npu")
    if function.attr == "to":
        given = [*node.args, *(one.value for one in node.keywords if one.arg in ("device", "dtype"))]
        types = [one for one in given if _is_double(one, file)]
        if types:
            devices = [one for one in given if one not in types]
            there = not _is_cpu(devices[0], file) if devices else moved and _is_on_cpu(function.value, file)
            return types[0] if there else None
        if any((file.qualname(one) or "").startswith("torch.") for one in given):
            return None
        moves = bool(given) and not _is_cpu(given[0], file)
    return _double_on_device(function.value, file, steps - 1, moved=moved or moves)


def _is_double(dtype: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is that type, or a name that stands for nothing else."""
    if file.qualname(dtype) in _DOUBLE:
        return True
    bound = file.assigned(dtype) if isinstance(dtype, ast.Name) else []
    return bool(bound) and all(one is not None and file.qualname(one) in _DOUBLE for one in bound)


def _parts(joined: ast.expr, file: PythonFile) -> list[ast.expr]:
    """The tensors of a list: those that are written in it, and those that its function appends to it."""
    if isinstance(joined, (ast.List, ast.Tuple)):
        return joined.elts
    if isinstance(joined, (ast.ListComp, ast.GeneratorExp)):
        return [joined.elt]
    if not isinstance(joined, ast.Name):
        return []
    made = _made(joined, file)
    appended = [
        call.args[0]
        for call in file.nodes_on_lines_with(f"{joined.id}.append")
        if isinstance(call, ast.Call)
        and len(call.args) == 1
        and file.code(call.func) == f"{joined.id}.append"
        and file.scope(call) is file.scope(joined)
    ]
    return [*(_parts(made, file) if made is not None and not isinstance(made, ast.Name) else ()), *appended]


def _made(node: ast.Name, file: PythonFile) -> ast.expr | None:
    """What a name stands for: its only value, or what statements before this one in its block gave it last."""
    bound = file.assigned(node)
    if len(bound) == 1:
        return bound[0]
    inner: ast.AST = node
    for up in file.ancestors(node):
        block = getattr(up, "body", None)
        if isinstance(block, list) and inner in block:
            for before in reversed(block[: block.index(inner)]):
                if any(isinstance(one, ast.Name) and one.id == node.id and _is_bound(one) for one in ast.walk(before)):
                    if isinstance(before, ast.Assign) and isinstance(before.targets[0], ast.Name):
                        return before.value
                    return None
            if not isinstance(up, (ast.If, ast.With)):
                return None
        inner = up
    return None


def _is_bound(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _is_cpu(node: ast.expr, file: PythonFile) -> bool:
    """Whether a device may be the CPU, for all that its text says."""
    if isinstance(node, ast.IfExp):
        return _is_cpu(node.body, file) and _is_cpu(node.orelse, file)
    text = file.code(node).lower()
    bound = file.assigned(node) if isinstance(node, ast.Name) else []
    if bound and all(isinstance(value, ast.IfExp) for value in bound):
        return all(value is not None and _is_cpu(value, file) for value in bound)
    for value in file.assigned(node) if isinstance(node, ast.Name) else ():
        if value is not None and "cpu" in file.code(value) and "cuda" not in file.code(value):
            return True
    return "cpu" in text or not any(word in text for word in ("cuda", "npu", "dev", "gpu", "rank"))


def _is_on_cpu(node: ast.expr, file: PythonFile) -> bool:
    """Whether a tensor is made by a function of torch that is given no device."""
    return (
        isinstance(node, ast.Call)
        and (file.qualname(node.func) or "").startswith("torch.")
        and keyword_of(node, "device") is None
    )
