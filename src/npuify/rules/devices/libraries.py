"""CUDA as other libraries and registries call it: operator registries, ONNX Runtime."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.stacks import stacks
from npuify.language import mark, phrase, semicolons
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.renaming import replace_in_literal
from npuify.rules.common.npu_support import SUPPORT
from npuify.rules.registry import rule

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU116",
    "onnxruntime-cuda-provider",
    Safety.REVIEW,
    words=("cudaexecutionprovider",),
    evidence=Evidence.DOCUMENTED,
    source="ONNX Runtime's documentation of its CANN execution provider",
)
def onnxruntime_cuda_provider(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """ONNX Runtime uses an NPU through its CANN provider, which needs a build with CANN.

    Before::

        providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]

    After::

        providers = ["CANNExecutionProvider", "CPUExecutionProvider"]
    """
    if node.value != "CUDAExecutionProvider" or isinstance(file.parent(node), ast.Expr):
        return
    edit = replace_in_literal(node, "CUDA", "CANN", file)
    yield file.report(
        node,
        "ONNX Runtime's provider for an NPU is CANNExecutionProvider",
        edits=[edit] if edit else (),
        subject="CUDAExecutionProvider",
        advice="install a build of onnxruntime with CANN; CUDA provider options do not carry over",
    )


@rule(
    "NPU117",
    "cuda-dispatch-key",
    Safety.REVIEW,
    words=('"cuda"', "'cuda'"),
    source="torch_npu/_init/registry/backend.py: the NPU is torch's PrivateUse1 device",
)
def cuda_dispatch_key(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """An operator is registered for the dispatch key CUDA; the NPU's key is PrivateUse1.

    Before::

        import torch
        lib = torch.library.Library("mine", "FRAGMENT")
        lib.impl("scale", lambda x: x * 2, "CUDA")

    After::

        import torch
        lib = torch.library.Library("mine", "FRAGMENT")
        lib.impl("scale", lambda x: x * 2, "PrivateUse1")
    """
    call = file.parent(node)
    if node.value != "CUDA" or not isinstance(call, ast.Call) or node not in call.args[1:]:
        return
    name = file.qualname(call.func) or ""
    word = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if not (word == "impl" or name.startswith("torch.library.")):
        return
    edit = replace_in_literal(node, "CUDA", "PrivateUse1", file)
    yield file.report(
        node,
        "the NPU's dispatch key is PrivateUse1",
        edits=[edit] if edit else (),
        subject="torch.library.impl",
        advice="the kernel itself must also run on an NPU",
    )


@rule(
    "NPU108",
    "npu-supported-already",
    Safety.MANUAL,
    Severity.WARNING,
    words=(),
    evidence=Evidence.ASSUMED,
    source="the program checks whether it runs on an NPU",
)
def npu_supported_already(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """The program already supports the NPU alongside CUDA; turning its CUDA path into a second NPU path would break it.

    Every edit in its files, and in what it imports, then needs review, and is only made with ``--unsafe``; other
    programs of the project are migrated as ever. Reported once for each folder of programs.

    Where the project is itself a stack of the table that knows the NPU (verl, LLaMA-Factory, Transformers, …), its
    package, tests, images and requirements are not edited at all: what it needs is the set of versions and the settings
    that are told here, once. Programs beside the package that do not treat the NPU are edited with ``--unsafe``.
    """
    folder = _topmost(file.source.relative)
    supporting = [one for one in file.project.supports_npu if _topmost(one) == folder]
    if not supporting or supporting[0] != file.source.relative:
        return
    match = SUPPORT.search(file.source.data)
    if match is not None and file.project.own_stack:
        if file.project.supports_npu[0] == file.source.relative:
            yield _is_stack(match, file)
    elif match is not None:
        more = phrase(", in {number} files", number=len(supporting)) if len(supporting) > 1 else ""
        yield file.report(
            match.span(),
            phrase("this program checks for an NPU itself{more}: it may already support the NPU", more=more),
            subject="torch_npu",
            advice="run it unchanged on the NPU first; migrate what is missing with --unsafe, and review each edit",
        )


def _is_stack(match: re.Match[bytes], file: PythonFile) -> Diagnostic:
    row = stacks()[file.project.own_stack.lower()]
    message = phrase("this project is {name}, which knows the NPU by itself", name=row.name)
    if row.since:
        message = phrase(
            "this project is {name}, which knows the NPU by itself from {since} on", name=row.name, since=row.since
        )
    parts = [
        phrase("{title}: {part}", title=phrase(title), part=semicolons(rows))
        for title, rows in ((mark("Set"), row.set), (mark("Settings"), row.changes), (mark("Refused"), row.refused))
        if rows
    ]
    return file.report(
        match.span(),
        message,
        subject=f"stack: {row.name}",
        evidence=row.evidence,
        source=row.source,
        advice=". ".join(parts),
    )


def _topmost(relative: str) -> str:
    return relative.partition("/")[0] if "/" in relative else ""


@rule(
    "NPU139",
    "nvml-loaded-by-name",
    Safety.MANUAL,
    Severity.WARNING,
    words=("libnvidia-ml",),
    also_in_file=("ctypes", "cffi"),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="NVML's documentation: the library comes with NVIDIA's driver",
)
def nvml_loaded_by_name(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A copy of NVML's bindings loads NVIDIA's library by its name: what chooses a platform by it finds no GPU."""
    if not isinstance(node.value, str) or not node.value.strip().startswith("libnvidia-ml"):
        return
    call = file.parent(node)
    word = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
        word = call.func.id
    if word not in ("CDLL", "LoadLibrary", "find_library", "dlopen"):
        return
    yield file.report(
        node,
        "libnvidia-ml comes with NVIDIA's driver: loading it fails on an NPU machine, and what asks it finds no device",
        subject="libnvidia-ml",
        advice="ask torch.npu.is_available() first; torch.npu.mem_get_info() and torch_npu.npu.utilization() tell "
        "what NVML would",
    )
