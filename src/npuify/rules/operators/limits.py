"""What runs on an NPU with limits that no name shows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule
from npuify.rules.text_checks import no_attribute, not_called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_JIT = ("torch.jit.script", "torch.jit.script_method", "torch.jit.freeze", "torch.jit.optimize_for_inference")


@rule(
    "NPU401",
    "jit-script",
    Safety.MANUAL,
    Severity.INFO,
    words=("jit.script", "script_method", "jit.freeze", "optimize_for_inference"),
    source="torch_npu/contrib/transfer_to_npu.py replaces torch.jit.script by a function that returns its argument",
)
def jit_script(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """TorchScript runs operator by operator on an NPU: the CUDA fusers do not apply, and some scripted code fails."""
    name = file.qualname(node)
    if name not in _JIT:
        return
    yield file.report(
        node,
        phrase("{name} is not accelerated on an NPU, and torch_npu's transfer_to_npu disables it", name=name),
        subject=name,
        advice="if the scripted function fails on the NPU, use it unscripted there",
    )


@rule(
    "NPU403",
    "compile-backend",
    Safety.MANUAL,
    Severity.INFO,
    words=("torch.compile",),
    skip_if=not_called,
    source="torch_npu/_inductor in the package; its default code generator is triton-ascend",
)
def compile_backend(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.compile`` uses an NPU through torch_npu's own backend, which needs more packages than torch_npu
    itself."""
    if file.qualname(node.func) != "torch.compile":
        return
    backend = next((keyword.value for keyword in node.keywords if keyword.arg == "backend"), None)
    cuda_graphs = isinstance(backend, ast.Constant) and backend.value == "cudagraphs"
    yield file.report(
        node,
        "the backend cudagraphs records CUDA graphs, which an NPU does not have"
        if cuda_graphs
        else "torch.compile needs a backend for the NPU",
        severity=Severity.ERROR if cuda_graphs else Severity.INFO,
        subject="torch.compile",
        advice="install triton-ascend for the default backend, or use torchair's; otherwise leave the model uncompiled",
    )


@rule(
    "NPU402",
    "channels-last",
    Safety.MANUAL,
    Severity.INFO,
    words=("channels_last",),
    skip_if=no_attribute,
    evidence=Evidence.DOCUMENTED,
    source="Ascend's migration guide: operators convert to the NPU's own formats",
)
def channels_last(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``channels_last`` is a layout for CUDA tensor cores; an NPU converts it to its own formats, at a cost."""
    name = file.qualname(node)
    if name not in ("torch.channels_last", "torch.channels_last_3d"):
        return
    yield file.report(
        node,
        phrase("{name} brings no gain on an NPU and may cost conversions", name=name),
        subject=name,
        advice="keep the default layout on the NPU",
    )
