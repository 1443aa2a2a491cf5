"""Programs that plug into vLLM: workers, kernels, communicators and questions about the platform."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.vllm_internals import internal
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.frameworks.vllm_internals import Internal
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU936",
    "inside-of-vllm",
    Safety.REVIEW,
    words=(
        *(
            "current_platform",
            "vllm.platforms",
            "vllm._",
            "_custom_ops",
            "vllm_flash_attn",
            "device_communicators",
            "vllm.v1.worker",
        ),
        *("vllm.worker", "vllm.v1.attention", "vllm.attention", "vllm.executor", "dispatch_key", "driver_worker"),
        *("get_device_total_memory", "guideddecodingparams"),
    ),
    also_in_file=("vllm",),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="the table of vLLM's inside; npuify says the source with each finding",
)
def inside_of_vllm(node: ast.Attribute | ast.ImportFrom | ast.Import, file: PythonFile) -> Iterator[Diagnostic]:
    """A program reaches into vLLM for what is CUDA's there, and another thing on an NPU.

    Before::

        from vllm.distributed.device_communicators.pynccl import PyNcclCommunicator

    After::

        from vllm_ascend.distributed.device_communicators.pyhccl import PyHcclCommunicator as PyNcclCommunicator
    """
    if "vllm" in file.project.packages:
        return  # vLLM itself
    if isinstance(node, ast.Attribute) and node.attr == "driver_worker":
        row = internal("vllm.executor.driver_worker")
        if row is not None and _IMPORTS_VLLM.search(file.source.data) is not None:
            yield _report(node, row, None, file)
        return
    if isinstance(node, ast.Attribute):
        row = internal(file.qualname(node) or "") if isinstance(node.value, (ast.Name, ast.Attribute)) else None
        parent = file.parent(node)
        if row is None or (isinstance(parent, ast.Attribute) and internal(file.qualname(parent) or "") is row):
            return
        if row.name.startswith("vllm.platforms.current_platform"):
            yield _report(node, row, None, file)
        return
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            row = internal(f"{node.module}.{alias.name}") if not node.level else None
        else:
            row = internal(alias.name)
        if row is not None and not row.name.startswith("vllm.platforms.current_platform"):
            yield _report(node, row, _exchanged(node, alias, row, file), file)


_IMPORTS_VLLM = re.compile(rb"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+vllm\b")


def _exchanged(node: ast.ImportFrom | ast.Import, alias: ast.alias, row: Internal, file: PythonFile) -> Edit | None:
    """The import of what stands for a name on an NPU, under the name that the program has for it."""
    if not row.alias or not isinstance(node, ast.ImportFrom) or len(node.names) > 1:
        return None
    module, _, name = row.alias.rpartition(".")
    return file.replace(node, f"from {module} import {name} as {alias.asname or alias.name}")


def _report(node: ast.AST, row: Internal, edit: Edit | None, file: PythonFile) -> Diagnostic:
    return file.report(
        node,
        phrase("{name}: {message}", name=row.name.rstrip(".*"), message=row.message),
        edits=[edit] if edit is not None else (),
        severity=Severity(row.severity),
        evidence=row.evidence,
        source=row.source,
        subject=row.name.rstrip(".*"),
        advice=row.advice,
    )
