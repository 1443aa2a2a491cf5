"""What torch took for a number before 0.5: the first element of a loss, which is a tensor without dimensions since."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_LOSS: Final = re.compile(r"torch\.nn\.functional\.(?:\w*_loss\w*|cross_entropy|binary_cross_entropy\w*|kl_div)")
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
    ``torch.nn.functional`` itself.

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
    if tensor is None or not is_first or not isinstance(node.ctx, ast.Load) or not _is_number(tensor, file):
        return
    yield file.report(
        node,
        f"{file.code(node)} raises IndexError: a loss has no dimensions since PyTorch 0.5",
        edits=[file.edit(file.source.end(tensor), file.source.end(node), ".item()")],
        subject="loss.data[0]",
    )


def _is_number(tensor: ast.expr, file: PythonFile) -> bool:
    if isinstance(tensor, ast.Call):
        whole = not any(keyword.arg in (None, *_SPARES_DIMENSIONS) for keyword in tensor.keywords)
        return whole and _LOSS.fullmatch(file.qualname(tensor.func) or "") is not None
    if not isinstance(tensor, (ast.Name, ast.Attribute)):
        return False
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
