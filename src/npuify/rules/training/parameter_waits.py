"""Numbers that are fetched from the device once for each parameter of a model."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.project import is_test
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch
from npuify.rules.registry import rule
from npuify.rules.training.walks import FUNCTIONS, enclosing_function, first_time, nodes_in
from npuify.source.python import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


def _of_text(lower: bytes, start: int, end: int) -> bool:
    """Whether ``float()`` is given a text or a number, as in ``float("inf")``."""
    return lower[start:end] == b"float(" and lower[end : end + 1] in b"\"'0123456789"


@rule(
    "NPU817",
    "host-waits-for-each-parameter",
    Safety.MANUAL,
    Severity.INFO,
    words=(".item()", "float("),
    also_in_file=(".grad",),
    common_words=True,
    skip_if=_of_text,
    evidence=Evidence.DOCUMENTED,
    source="msprof-analyze's rule for synchronizing calls; torch_npu queues operators as CUDA does",
)
def host_waits_for_each_parameter(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A loop over a model's parameters fetches a number for each gradient, and waits for the device each time.

    A model has hundreds of parameters, so a step waits hundreds of times. Reported once for each function.
    """
    fetched = _fetched(node)
    if fetched is None or not imports_torch(file) or is_test(file.source.relative):
        return
    if not _is_of_gradient(fetched, node, file):
        return
    function = enclosing_function(node, file)
    if not first_time(f"NPU817 {getattr(function, 'lineno', 0)}", file):
        return
    where = (
        phrase("{name} fetches", name=function.name) if isinstance(function, FUNCTIONS) else phrase("a loop fetches")
    )
    yield file.report(
        node,
        phrase("{where} a number for each parameter, and waits for the device each time", where=where),
        subject="torch.Tensor.item",
        advice="collect the numbers on the device, torch.stack them, and fetch the result once; for the norm of all "
        "gradients use what torch.nn.utils.clip_grad_norm_ returns",
    )


def _fetched(node: ast.Call) -> ast.expr | None:
    """What ``x.item()`` or ``float(x)`` fetches."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
        return node.func.value
    if isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1:
        return node.args[0]
    return None


def _is_of_gradient(fetched: ast.expr, node: ast.AST, file: PythonFile) -> bool:
    """Whether what is fetched is made of the gradient of what the innermost loop goes over."""
    for up in file.ancestors(node):
        if isinstance(up, ast.For):
            return _has_gradient(fetched, up.target, up, file)
        if isinstance(up, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            return _has_gradient(fetched, up.generators[0].target, None, file)
        if isinstance(up, (*FUNCTIONS, ast.Lambda, ast.While)):
            return False
    return False


def _has_gradient(fetched: ast.expr, target: ast.expr, loop: ast.For | None, file: PythonFile) -> bool:
    """Whether ``fetched`` holds ``p.grad`` of a ``p`` in ``target``, or a name that the loop makes of one."""
    bound = {part.id for part in walk(target) if isinstance(part, ast.Name)}

    def of_gradient(node: ast.AST) -> bool:
        return any(
            isinstance(part, ast.Attribute)
            and part.attr == "grad"
            and isinstance(part.value, ast.Name)
            and part.value.id in bound
            for part in walk(node)
        )

    if of_gradient(fetched) or loop is None:
        return of_gradient(fetched)
    names = {part.id for part in walk(fetched) if isinstance(part, ast.Name)}
    return any(
        isinstance(statement, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id in names for one in statement.targets)
        and of_gradient(statement.value)
        for statement in nodes_in(loop, file)
    )
