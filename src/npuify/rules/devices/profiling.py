"""Profiling: ``torch.profiler`` sees an NPU only through ``torch_npu.profiler``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import commas, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.devices.imports import _whole_statement
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_MODULE = "torch.profiler"
_NEW_MODULE = "torch_npu.profiler"
_ONLY_TORCH = ("key_averages", "export_stacks", "_ExperimentalConfig", "execution_trace_observer", "events")
"""What users call on torch's profiler and torch_npu's does not have, checked against the release's table."""


@rule("NPU160", "cuda-profiler-activity", Safety.SAFE, Severity.WARNING, words=("profileractivity",), names=("CUDA",))
def cuda_profiler_activity(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``ProfilerActivity.CUDA`` records nothing on an NPU: torch_npu has its own profiler.

    All names of ``torch.profiler`` in the file that ``torch_npu.profiler`` has change together. Where the program uses
    something that torch_npu's profiler lacks, it is left unchanged, and the finding says so.

    Before::

        import torch
        from torch.profiler import ProfilerActivity, profile, record_function
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
            with record_function("step"):
                torch.ones(2).sum()

    After::

        import torch
        from torch.profiler import record_function
        from torch_npu.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]) as prof:
            with record_function("step"):
                torch.ones(2).sum()
    """
    if node.attr != "CUDA" or file.qualname(node) != f"{_MODULE}.ProfilerActivity.CUDA":
        return
    first = file.recall("profiler") is None
    lacking = [
        name
        for name in _ONLY_TORCH
        if file.contains(name.encode())
        and not file.release.has(f"{_NEW_MODULE}.profile.{name}")
        and any(isinstance(item, ast.Attribute) and item.attr == name for item in file.nodes_on_lines_with(name))
    ]
    if lacking or not first:
        if lacking:
            yield file.report(
                node,
                phrase(
                    "{NEW_MODULE} records the NPU, but has no {lacking}, which this file uses",
                    NEW_MODULE=_NEW_MODULE,
                    lacking=commas(lacking),
                ),
                subject=f"{_MODULE}.ProfilerActivity.CUDA",
                advice="use torch_npu.profiler with tensorboard_trace_handler and read the files it writes",
            )
        return
    edits = _all_uses(file)
    file.remember("profiler", True)
    yield file.report(
        node,
        phrase("the NPU is recorded by {NEW_MODULE}", NEW_MODULE=_NEW_MODULE),
        edits=edits or (),
        subject=f"{_MODULE}.ProfilerActivity.CUDA",
        advice="" if edits else phrase("import profile and ProfilerActivity from {NEW_MODULE}", NEW_MODULE=_NEW_MODULE),
        needs_torch_npu=True,
    )


def _all_uses(file: PythonFile) -> list[Edit] | None:
    """Edits of every name of ``torch.profiler`` in the file that torch_npu.profiler has; None where one cannot be."""
    nodes: dict[ast.AST, None] = {}
    for word in ("profiler", "ProfilerActivity"):
        nodes.update(dict.fromkeys(file.nodes_on_lines_with(word)))
    edits: list[Edit] = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == _MODULE and not node.level:
            moved: dict[str, list[str]] = {}
            for alias in node.names:
                module = _NEW_MODULE if file.release.has(f"{_NEW_MODULE}.{alias.name}") else _MODULE
                text = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
                moved.setdefault(module, []).append(text)
            if _NEW_MODULE in moved:
                new = _whole_statement(node, moved, file)
                if new is None:
                    return None
                edits += new
        elif isinstance(node, ast.Import) and any(alias.name == _MODULE and alias.asname for alias in node.names):
            return None
        elif isinstance(node, ast.Attribute):
            name = file.qualname(node) or ""
            if name.startswith(f"{_MODULE}.ProfilerActivity.") and node.attr not in ("CPU", "CUDA"):
                return None
            if name == f"{_MODULE}.ProfilerActivity.CUDA":
                edit = file.rename_attribute(node, "NPU")
                if edit is None:
                    return None
                edits.append(edit)
            elif name.startswith(_MODULE + ".") and name.count(".") == 2:
                if isinstance(node.value, ast.Name) and file.qualname(node.value) == _MODULE:
                    return None
                if file.release.has(f"{_NEW_MODULE}.{node.attr}") and isinstance(node.value, ast.Attribute):
                    edits.append(file.replace(node.value, _NEW_MODULE))
    return edits


@rule(
    "NPU161",
    "cuda-profiler-column",
    Safety.MANUAL,
    Severity.WARNING,
    words=("cuda_time", "cuda_memory", "use_cuda", "emit_nvtx"),
)
def cuda_profiler_column(node: ast.Constant | ast.keyword | ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Columns and switches of torch's profiler refer to CUDA: ``sort_by="cuda_time_total"``, ``use_cuda=True``.

    ``emit_nvtx`` marks operators for NVIDIA's profiler, and waits for CUDA where it begins.
    """
    if isinstance(node, ast.Call):
        yield from _marks(node, file)
        return
    if isinstance(node, ast.keyword):
        call = file.parent(node)
        if node.arg != "use_cuda" or not isinstance(call, ast.Call):
            return
        name = file.qualname(call.func) or ""
        if not name.startswith(("torch.autograd.profiler", "torch.profiler")):
            return
        yield file.report(
            node.value,
            phrase("{name}(use_cuda=…) records CUDA only", name=name),
            subject=name,
            advice="use torch_npu.profiler.profile; from torch 2.4 on, use_device='npu' records NPU times here",
        )
    elif isinstance(node.value, str) and node.value in (
        "cuda_time_total",
        "self_cuda_time_total",
        "cuda_time",
        "cuda_memory_usage",
        "self_cuda_memory_usage",
    ):
        if isinstance(file.parent(node), ast.Expr):
            return
        yield file.report(
            node,
            phrase("{value!r} is a CUDA column; torch_npu's profiler writes files instead of tables", value=node.value),
            subject=node.value,
            advice="read op_statistic.csv or kernel_details.csv, which torch_npu.profiler writes",
        )


def _marks(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    if file.qualname(node.func) != "torch.autograd.profiler.emit_nvtx":
        return
    enabled = argument(node, 0, "enabled")
    if isinstance(enabled, ast.Constant) and not enabled.value:
        return
    sure = enabled is None or isinstance(enabled, ast.Constant)
    yield file.report(
        node,
        "emit_nvtx calls torch.cuda.synchronize where it begins, which fails without CUDA",
        severity=Severity.ERROR if sure else Severity.WARNING,
        evidence=Evidence.PACKAGE,
        source="torch/autograd/profiler.py",
        subject="torch.autograd.profiler.emit_nvtx",
        advice="use torch_npu.profiler.profile, which records the operators itself",
    )
