"""Put what only the CPU can compute there: calls of packages and operators that have no kernels for an NPU."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING, Final

from npuify.analysis.project import module_name
from npuify.helpers import CPU_FALLBACK
from npuify.knowledge import packages
from npuify.knowledge.third_party.members import named_member
from npuify.language import phrase
from npuify.model import Edit, Evidence, Finding, Safety, Severity
from npuify.rules.common.operator_calls import CallSearch
from npuify.rules.common.packages.helper_modules import home_of, import_finding, import_of
from npuify.rules.common.span_findings import span_finding
from npuify.rules.registry import Rule, list_rule
from npuify.source.python import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex

_WRAPPER: Final = "on_cpu"


def _documentation(node: object, file: object) -> Iterator[object]:
    """A call without an NPU kernel runs on the CPU, with copies around it, if ``--cpu-fallback`` is given.

    This covers calls of packages with kernels for the CPU and CUDA only (torch_cluster, torch_sparse, …), and of the
    project's own operators that have a CPU implementation. The wrapper is written into the project as
    ``npuify_on_cpu.py``: tensors in the arguments go to the CPU, results and modified arguments come back, and
    gradients flow. Every such call waits for the device and two copies.

    Before::

        from torch_cluster import random_walk

        def walks(row, col, start):
            return random_walk(row, col, start, walk_length=3)

    After::

        from torch_cluster import random_walk
        from npuify_on_cpu import on_cpu

        def walks(row, col, start):
            return on_cpu(random_walk)(row, col, start, walk_length=3)
    """
    raise NotImplementedError("calls are put on the CPU by their own module")


RULE = list_rule(
    Rule(
        "NPU650",
        "call-without-npu-kernel",
        Safety.SAFE,
        Severity.WARNING,
        Evidence.DOCUMENTED,
        "table of packages; the project's own bindings",
        (),
        (),
        _documentation,
    )
)


_TENSOR_FUNCTIONS: Final = ("torch_scatter", "torch_sparse", "torch_cluster", "torch_spline_conv", "pyg_lib")
"""Packages whose functions take and give plain tensors. Others keep tensors in objects of their own."""


@cache
def cpu_packages() -> tuple[str, ...]:
    """Import names of packages whose functions can be put on the CPU: their kernels know the CPU and CUDA only."""
    table = packages()
    return tuple(name for name in _TENSOR_FUNCTIONS if name in table and table[name].status == "cpu-only")


def may_concern(data: bytes, operators: tuple[tuple[str, str], ...]) -> bool:
    """Whether a file may call anything that only the CPU can compute."""
    if any(name.encode() in data for name in cpu_packages()):
        return True
    return any(module.rpartition(".")[2].encode() in data and name.encode() in data for module, name in operators)


def fallback_findings(
    relative: str,
    raw: bytes,
    operators: tuple[tuple[str, str], ...],
    project: ProjectIndex,
    replaced: frozenset[str] = frozenset(),
) -> list[Finding]:
    """The calls of a file that are to be put on the CPU, and the import that they need.

    Args:
        relative: the file's path.
        raw: its bytes.
        operators: module and name of the project's own operators that have an implementation for the CPU.
        project: knows where the project's packages begin.
        replaced: packages whose names come from a module in PyTorch here, where there is one for them.
    """
    if not may_concern(raw, operators):
        return []
    source = PythonSource(relative, module_name(relative), raw, reexport=project.reexport)
    calls: list[ast.Call] = []
    source.visit(
        range(1, len(source.text.line_starts) + 1),
        lambda node: calls.append(node) if isinstance(node, ast.Call) else None,
    )
    places = {place for _, place in CallSearch(operators).places(relative, source.data)}
    names = {name for _, name in operators}
    found = []
    is_wrapped = False
    for call in calls:
        if isinstance(call.func, ast.Call):
            is_wrapped = is_wrapped or _is_wrapper(call.func, source)
            continue
        what = _only_on_cpu(call, source, places, names)
        if what is not None and not (what.partition(".")[0] in replaced and _has_module(what)):
            found.append(_finding(call, what, source))
    if found or is_wrapped:
        full = import_of(CPU_FALLBACK, home_of(relative, project), project, source)
        found += import_finding(source, RULE, CPU_FALLBACK, _WRAPPER, full)
    return found


def _has_module(name: str) -> bool:
    row = named_member(name)
    return row is not None and row.outcome == "replaced"


def _is_wrapper(function: ast.Call, source: PythonSource) -> bool:
    return isinstance(function.func, ast.Name) and function.func.id == _WRAPPER


def _only_on_cpu(call: ast.Call, source: PythonSource, places: set[str], names: set[str]) -> str | None:
    """The name of what is called, if only the CPU computes it."""
    name = source.qualname(call.func) or ""
    top = name.partition(".")[0]
    if top in cpu_packages() and "." in name:
        last = name.rpartition(".")[2]
        # Classes hold tensors of their own; only what is called with tensors can be moved.
        return name if last.islower() and not last.startswith("_") else None
    if isinstance(call.func, ast.Attribute) and call.func.attr in names:
        if f"{source.relative}:{call.func.end_lineno}" in places or f"{source.relative}:{call.func.lineno}" in places:
            return ast.unparse(call.func)
    return None


def _finding(call: ast.Call, name: str, source: PythonSource) -> Finding:
    start, end = source.start(call.func), source.end(call.func)
    return span_finding(
        RULE,
        source,
        (start, end),
        phrase("{name} has no NPU kernel: it is computed on the CPU, with copies around the call", name=name),
        subject=name,
        edits=(Edit(start, start, "", f"{_WRAPPER}("), Edit(end, end, "", ")")),
    )
