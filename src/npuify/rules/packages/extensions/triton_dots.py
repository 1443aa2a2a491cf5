"""Matrix products of Triton kernels that ask for TensorFloat-32, which triton-ascend refuses."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.call_edits import without_keyword
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DOT = "triton.language.dot"
_PARTS = "tf32x3"
"""Three products of TensorFloat-32 for nearly the precision of float32."""


@rule(
    "NPU644",
    "triton-tensor-float",
    Safety.SAFE,
    words=("allow_tf32", "input_precision"),
    also_in_file=("triton",),
    evidence=Evidence.PACKAGE,
    source="triton-ascend 3.2.0, triton_patch/language/core.py: dot",
)
def triton_tensor_float(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A matrix product asks for TensorFloat-32, for which a kernel does not compile with triton-ascend.

    Without the argument an NPU computes in float32. On CUDA nothing changes: TensorFloat-32 is what Triton takes there
    unless it is told otherwise.

    Before::

        import triton
        import triton.language as tl

        @triton.jit
        def kernel(a, b, c, size: tl.constexpr):
            at = tl.arange(0, size)[:, None] * size + tl.arange(0, size)[None, :]
            tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), allow_tf32=True))

    After::

        import triton
        import triton.language as tl

        @triton.jit
        def kernel(a, b, c, size: tl.constexpr):
            at = tl.arange(0, size)[:, None] * size + tl.arange(0, size)[None, :]
            tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))
    """
    if file.qualname(node.func) != _DOT:
        return
    for keyword in node.keywords:
        name, value = keyword.arg or "", keyword.value
        if name not in ("allow_tf32", "input_precision"):
            continue
        given = value.value if isinstance(value, ast.Constant) else None
        if not isinstance(value, ast.Constant):
            yield file.report(
                value,
                phrase(
                    "{name}={value} may ask for TensorFloat-32, which triton-ascend refuses",
                    name=name,
                    value=file.code(value),
                ),
                severity=Severity.WARNING,
                subject=f"{_DOT}.{name}",
                advice=phrase(
                    'make it {value} on an NPU; input_precision="hf32" is what an NPU has for float32',
                    value="False" if name == "allow_tf32" else '"ieee"',
                ),
            )
        elif given == _PARTS:
            yield file.report(
                value,
                phrase("triton-ascend refuses {name}={value}", name=name, value=file.code(value)),
                edits=[file.replace(value, '"ieee"')],
                safety=Safety.REVIEW,
                subject=f"{_DOT}.{name}",
                advice=phrase("float32 throughout is slower on CUDA, and no less precise"),
            )
        elif given is True or given == "tf32":
            edit = without_keyword(node, keyword, file)
            yield file.report(
                value,
                phrase("triton-ascend refuses {name}={value}", name=name, value=file.code(value)),
                edits=[] if edit is None else [edit],
                subject=f"{_DOT}.{name}",
                advice="" if edit is not None else phrase("leave the argument out"),
            )
