"""Legacy tensor types of CUDA: ``torch.cuda.FloatTensor`` as a string. As a name it is an ordinary CUDA name."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Safety
from npuify.rules.common.edits.renaming import replace_in_literal
from npuify.rules.devices.default_types import is_default_type
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_TYPE = re.compile(r"torch\.cuda\.[A-Z]\w*(?:Tensor|Storage)")


@rule("NPU113", "cuda-tensor-type", Safety.SAFE, words=("torch.cuda",))
def cuda_tensor_type(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A string names a legacy CUDA tensor type, as ``x.type()`` returns and accepts it.

    Before::

        import torch
        half = torch.zeros(2).type("torch.cuda.HalfTensor")

    After::

        import torch
        import torch_npu  # noqa: F401
        half = torch.zeros(2).type("torch.npu.HalfTensor")
    """
    if not isinstance(node.value, str):
        return
    if node.value.rstrip(".") == "torch.cuda":
        yield from _beginning(node, file)
        return
    if not _TYPE.fullmatch(node.value):
        return
    if isinstance(file.parent(node), (ast.Expr, ast.JoinedStr)) or is_default_type(node, file):
        return
    counterpart = file.release.counterpart(node.value)
    if counterpart is None or counterpart.npu is None:
        yield file.report(
            node,
            phrase(
                "torch_npu {torch_npu} has no counterpart of {value}",
                torch_npu=file.release.torch_npu,
                value=node.value,
            ),
            subject=node.value,
        )
        return
    edit = replace_in_literal(node, "cuda", "npu", file)
    yield file.report(
        node,
        phrase("{value} is {npu} on the NPU", value=node.value, npu=counterpart.npu),
        edits=[edit] if edit else [],
        subject=node.value,
        evidence=counterpart.evidence,
        source=counterpart.source,
        # A comparison of names needs nothing of torch_npu.
        needs_torch_npu=not any(isinstance(up, ast.Compare) for up in file.ancestors(node)),
    )


def _beginning(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """``x.type().startswith("torch.cuda")``."""
    given: ast.expr = node
    parent = file.parent(node)
    if isinstance(parent, ast.Tuple):
        given, parent = parent, file.parent(parent)  # .startswith(("torch.cuda", "torch.xpu"))
    tested: ast.expr | None = None
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.args[:1] == [given]:
        tested = parent.func.value if parent.func.attr == "startswith" else None
    elif isinstance(parent, ast.Compare) and len(parent.ops) == 1 and parent.left is node:
        tested = parent.comparators[0] if isinstance(parent.ops[0], (ast.In, ast.NotIn)) else None
    if tested is None or not _is_type_of_tensor(tested, file):
        return
    edit = replace_in_literal(node, "cuda", "npu", file)
    yield file.report(
        node,
        "types of tensors on an NPU begin with torch.npu",
        edits=[edit] if edit else [],
        subject="torch.cuda",
    )


def _is_type_of_tensor(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is ``x.type()``, also by a name."""
    if isinstance(node, ast.Name):
        return any(value is not None and _is_type_of_tensor(value, file) for value in file.assigned(node))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "type":
        return False
    return not node.args and not node.keywords
