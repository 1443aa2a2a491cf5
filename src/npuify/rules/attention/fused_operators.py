"""Steps that an NPU has as one operator: suggestions, never edits."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_SILU = ("torch.nn.functional.silu", "torch.nn.functional.swish")


@rule(
    "NPU508",
    "fused-operator",
    Safety.MANUAL,
    Severity.INFO,
    words=("rsqrt", "def rotate_half", "f.silu(", "functional.silu(", " silu(", "(silu(", "f.swish("),
    evidence=Evidence.DOCUMENTED,
    source="torch_npu/_op_plugin_docs.py: npu_rms_norm, npu_rotary_mul, npu_swiglu",
)
def fused_operator(node: ast.Call | ast.FunctionDef | ast.BinOp, file: PythonFile) -> Iterator[Diagnostic]:
    """RMSNorm, rotary embeddings or SwiGLU is written out step by step; the NPU has a single operator for each."""
    if isinstance(node, ast.Call):
        found = _rms_norm(node, file)
    elif isinstance(node, ast.FunctionDef):
        found = _rotary(node)
    else:
        found = _swiglu(node, file)
    if found is None or not file.release.has(found[0]):
        return
    operator, what, advice = found
    yield file.report(
        node,
        phrase("{what} can run as a single operator on the NPU: {operator}", what=what, operator=operator),
        subject=operator,
        advice=advice,
    )


def _rms_norm(node: ast.Call, file: PythonFile) -> tuple[str, str, str] | None:
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "rsqrt":
        return None
    around = next((up for up in file.ancestors(node) if isinstance(up, ast.ClassDef)), None)
    if around is None or "rmsnorm" not in around.name.lower().replace("_", ""):
        return None
    return (
        "torch_npu.npu_rms_norm",
        around.name,
        (
            "torch_npu.npu_rms_norm(x, weight, epsilon=eps)[0]; a zero-centered weight needs 1 added, and epsilon "
            "must always be passed"
        ),
    )


def _rotary(node: ast.FunctionDef) -> tuple[str, str, str] | None:
    if node.name != "rotate_half":
        return None
    return (
        "torch_npu.npu_rotary_mul",
        "x * cos + rotate_half(x) * sin",
        "torch_npu.npu_rotary_mul(x, cos, sin) with four dimensions each, and cos and sin of the full head dimension",
    )


def _swiglu(node: ast.BinOp, file: PythonFile) -> tuple[str, str, str] | None:
    calls = [side for side in (node.left, node.right) if isinstance(side, ast.Call)]
    if not isinstance(node.op, ast.Mult) or not any(file.qualname(call.func) in _SILU for call in calls):
        return None
    return (
        "torch_npu.npu_swiglu",
        "silu(gate) * up",
        (
            "torch_npu.npu_swiglu(x, dim=-1), where x contains the gate first: worthwhile where one linear layer "
            "computes both; needs an Atlas A2 or newer"
        ),
    )
