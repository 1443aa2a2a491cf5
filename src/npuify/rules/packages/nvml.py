"""NVML, which a program starts as it is imported and asks only where somebody wants to know."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.statements import line_after
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_START = "pynvml.nvmlInit"


@rule(
    "NPU621",
    "nvml-started-at-import",
    Safety.SAFE,
    Severity.ERROR,
    words=("nvmlinit",),
    also_in_file=("pynvml",),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="nvidia-ml-py: nvmlInit raises NVMLError where there is no driver of NVIDIA's",
)
def started_at_import(node: ast.Expr, file: PythonFile) -> Iterator[Diagnostic]:
    """A module starts NVML as it is imported, which raises where there is no driver of NVIDIA's.

    With the guard the program goes on, and what asks NVML raises the same error where it is called. Nothing changes
    where the driver is.

    Before::

        import pynvml
        pynvml.nvmlInit()

        def memory():
            return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).free

    After::

        import pynvml
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError:
            pass

        def memory():
            return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).free
    """
    call = node.value
    if not _is_start(node, file) or not isinstance(call, ast.Call) or not isinstance(file.parent(node), ast.Module):
        return
    if not only_started(file):
        return
    edits = []
    if isinstance(call.func, ast.Attribute) and node.lineno == node.end_lineno:
        line, start = file.source.text.newline, file.source.start(node)
        behind = line_after(node, f"except {file.code(call.func.value)}.NVMLError:{line}    pass", file)
        if behind is not None:
            edits = [file.edit(start, start, f"try:{line}    "), behind]
    yield file.report(
        node,
        "nvmlInit() raises where there is no driver of NVIDIA's",
        edits=edits,
        subject=_START,
        advice="what asks NVML fails only where it is called" if edits else "catch NVMLError here",
    )


def only_started(file: PythonFile) -> bool:
    """Whether a module does nothing with NVML as it is imported but start it."""
    starts = [one for one in file.source.tree.body if _is_start(one, file)]
    return bool(starts) and not any(
        isinstance(part, ast.Call) and (file.qualname(part.func) or "").startswith("pynvml.")
        for one in file.source.tree.body
        if one not in starts and not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for part in ast.walk(one)
    )


def chooses_platform(node: ast.AST, file: PythonFile) -> bool:
    """Whether code that goes on where NVML fails takes that for a machine without a device, and chooses by it.

    ``try: pynvml.nvmlInit(); found = True`` with ``except Exception: found = False``, and then a device by ``found``.
    """
    current, returns = node, False
    names: set[str] = set()
    for up in file.ancestors(node):
        if isinstance(up, ast.FunctionDef) and returns:
            names.add(up.name)
        if isinstance(up, ast.Try) and current in up.body:
            for one in (part for handler in up.handlers for part in handler.body):
                if isinstance(one, (ast.Assign, ast.Return)) and _is_cpu(one.value):
                    return True
                if isinstance(one, ast.Assign) and _is_falsy(one.value):
                    names |= {target.id for target in one.targets if isinstance(target, ast.Name)}
                returns = returns or (isinstance(one, ast.Return) and _is_falsy(one.value))
        current = up
    return any(_picks(node, file) for name in names for node in file.model.references(name))


def guarded_starts(file: PythonFile) -> list[ast.Call]:
    """Where a file starts NVML, if it goes on each time where that fails; none where it does not."""
    starts = [
        node
        for node in file.nodes_on_lines_with("nvmlInit", "init", "nvmlInitWithFlags")
        if isinstance(node, ast.Call) and (file.qualname(node.func) or "").startswith(_START)
    ]
    return starts if starts and all(_is_guarded(node, file) for node in starts) else []


def _is_guarded(node: ast.AST, file: PythonFile) -> bool:
    current = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Try) and current in up.body and up.handlers:
            return not any(isinstance(handler.body[-1], ast.Raise) for handler in up.handlers)
        current = up
    return False


def _is_cpu(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == "cpu"


def _is_falsy(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and not node.value)


def _picks(node: ast.AST, file: PythonFile) -> bool:
    """Whether a name stands in a condition by which a device is chosen."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)) and current is up.test:
            return _DEVICE.search(file.code(up)) is not None
        if isinstance(up, ast.stmt):
            return False
        current = up
    return False


_DEVICE = re.compile(r"[\"'](?:cuda|npu|gpu)(?::\d+)?[\"']|\b\w+\.(?:type|api)\b|\.(?:cuda|npu)\b")


def _is_start(node: ast.stmt, file: PythonFile) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and file.qualname(node.value.func) == _START
