"""Legacy tensor types of CUDA: ``torch.cuda.FloatTensor`` as a string. As a name it is an ordinary CUDA name."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.model import Safety
from npuify.rules.common.renaming import replace_in_literal
from npuify.rules.devices.default_types import is_default_type
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_TYPE = re.compile(r"torch\.cuda\.[A-Z]\w*(?:Tensor|Storage)")


@rule("NPU113", "cuda-tensor-type", Safety.SAFE, words=("torch.cuda.",))
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
    if not isinstance(node.value, str) or not _TYPE.fullmatch(node.value):
        return
    if isinstance(file.parent(node), (ast.Expr, ast.JoinedStr)) or is_default_type(node, file):
        return
    counterpart = file.release.counterpart(node.value)
    if counterpart is None or counterpart.npu is None:
        yield file.report(
            node, f"torch_npu {file.release.torch_npu} has no counterpart of {node.value}", subject=node.value
        )
        return
    edit = replace_in_literal(node, "cuda", "npu", file)
    yield file.report(
        node,
        f"{node.value} is {counterpart.npu} on the NPU",
        edits=[edit] if edit else [],
        subject=node.value,
        evidence=counterpart.evidence,
        source=counterpart.source,
        # A comparison of names needs nothing of torch_npu.
        needs_torch_npu=not any(isinstance(up, ast.Compare) for up in file.ancestors(node)),
    )
