"""Operators and types that an NPU runs slowly, on the CPU, or not at all, although no name says so."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.values import MODELS
from npuify.language import commas, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import keyword_of
from npuify.rules.registry import rule
from npuify.rules.text_checks import compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DOUBLE = frozenset(("torch.float64", "torch.double"))
_CHOSEN_BEFORE = re.compile(rb"\belse\s*\Z")
_CHOSEN = re.compile(rb"\s+if\b")
_MOVED = re.compile(rb"[\s)\\]*(?:#.*\s*)*\.\s*(?:to|cuda|npu)\b")
_CONVERTED = re.compile(rb"\.to\(\s*\Z")
_MADE = re.compile(rb"\w\((?![^()]*(?:device|cuda|npu))[^()#]*\bdtype\s*=\s*\Z")
_THERE = re.compile(rb"\.(?:cuda|npu|to)\([^()]*\)\s*\Z")
_WHOLE = re.compile(
    rb"[ \t]*(?:[\w.]+[ \t]*=[ \t]*)?[^#\n=]*[\w)]\.(?:double\(\)|to\(torch\.(?:float64|double)\))[ \t\r]*"
)
"""A line that does nothing else to what has a name."""
_CLOSED = re.compile(rb"\s*\)")


def _no_double_on_device(lower: bytes, start: int, end: int) -> bool:
    """Whether the text around a word says that no call names both the type and a device."""
    near = max(start - 200, 0)
    if lower.startswith(b"dtype", start):  # dtype=float, Python's own, which torch takes for float64
        return lower[end - 1 : end] == b")" and _MADE.search(lower, near, start + len(b"dtype=")) is not None
    line = lower.rfind(b"\n", 0, start) + 1
    if _WHOLE.fullmatch(lower, line, lower.find(b"\n", end) if b"\n" in lower[end : end + 400] else len(lower)):
        return False  # of a model, perhaps
    if lower[start : start + 1] == b".":  # .double()
        return _MOVED.match(lower, end) is None and _THERE.search(lower, near, start) is None
    if compared(lower, start + len(b"torch."), end):
        return True
    if _CHOSEN.match(lower, end) or _CHOSEN_BEFORE.search(lower, near, start):
        return True
    if not _CLOSED.match(lower, end):
        return False
    converted = _CONVERTED.search(lower, near, start)
    if converted:
        return _MOVED.match(lower, end) is None and _THERE.search(lower, near, converted.start()) is None
    return _MADE.search(lower, near, start) is not None


@rule(
    "NPU410",
    "float64-on-device",
    Safety.MANUAL,
    Severity.WARNING,
    words=("torch.float64", "torch.double", ".double()", "dtype=float,", "dtype=float)"),
    skip_if=_no_double_on_device,
    evidence=Evidence.REPORTED,
    source="user reports: 'not implemented for DT_DOUBLE' from aclnn operators, and results computed in float32",
)
def float64_on_device(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A double-precision tensor is created on, or moved to, the device.

    Few NPU kernels take ``float64``: others raise, run on the CPU, or compute in ``float32``. Only calls that name both
    the type and a device are reported, and models that are moved there; double precision on the CPU is fine. A tensor
    that is on the NPU already becomes ``float32`` by ``.double()``, of which torch_npu warns once.
    """
    name = file.qualname(node.func) or ""
    if name == "torch.set_default_dtype":
        if not node.args or not _is_double(node.args[0], file):
            return
        what = "float64 becomes the default type"
    elif _is_model_on_device(node, file):
        what = "a model in float64 on the device; what it computes there is float64, or float32 in silence"
    elif _double_on_the_device(node, file):
        what = "on an NPU this conversion to float64 gives float32"
    elif _double_with_device(node, name, file):
        what = "a float64 tensor on the device"
    else:
        return
    yield file.report(
        node,
        phrase("{what}; few NPU kernels take float64", what=what),
        subject="torch.float64",
        advice="use float32 on the NPU: HCCL does not reduce float64 either, so that DistributedDataParallel stops"
        if file.contains(b"DistributedDataParallel")
        else "use float32 on the NPU, or compute this part on the CPU and move the result",
    )


def _is_model_on_device(node: ast.Call, file: PythonFile) -> bool:
    """Whether a model that the file moves to the device, before or after, is converted as a whole."""
    function = node.func
    if not isinstance(function, ast.Attribute):
        return False
    to_double = function.attr == "double" and not node.args
    if not to_double and not (function.attr == "to" and len(node.args) == 1 and _is_double(node.args[0], file)):
        return False
    model = function.value
    if not file.values(model).only(*MODELS):
        return False
    if isinstance(model, ast.Call):
        if _moves(model, file):
            return True
        statement = file.parent(node)
        if not isinstance(statement, ast.Assign):
            return False
        model = statement.targets[0]
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return False
    moved = re.compile(rb"(?<![\w.])" + re.escape(file.code(model).encode()) + _ON_DEVICE)
    bound = file.assigned(model) if isinstance(model, ast.Name) else []
    return moved.search(file.source.data) is not None or any(
        value is not None and re.search(_ON_DEVICE, file.code(value).encode()) is not None for value in bound
    )


_ON_DEVICE = rb"[^\n=]*\.(?:(?:cuda|npu)\(|to\((?!torch\.(?:float|double|half|bfloat))(?![^)\n]*cpu))"


def _double_on_the_device(node: ast.Call, file: PythonFile) -> bool:
    """Whether what has been moved to the device in the same expression is converted there."""
    function = node.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Call):
        return False
    if not _moves(function.value, file):
        return False
    if function.attr == "to":
        return len(node.args) == 1 and _is_double(node.args[0], file)
    return function.attr == "double" and not node.args


def _moves(call: ast.Call, file: PythonFile) -> bool:
    """Whether a call takes what it is called on to the device, and does nothing else."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in ("cuda", "npu"):
        return True
    return function.attr == "to" and len(call.args) == 1 and not call.keywords and _names_device(call.args[0], file)


def _double_with_device(node: ast.Call, name: str, file: PythonFile) -> bool:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in ("to", "cuda", "npu"):
        inner = function.value
        moved = function.attr != "to" or _names_device(node.args[0] if node.args else keyword_of(node, "device"), file)
        if moved and isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            if inner.func.attr == "double" and not inner.args:
                return True
            if inner.func.attr == "to" and inner.args and _is_double(inner.args[0], file):
                return True
        if function.attr != "to":
            return False
        dtype = node.args[1] if len(node.args) > 1 else keyword_of(node, "dtype")
        return moved and _is_double(dtype, file)
    if not name.startswith("torch.") and not (isinstance(function, ast.Attribute) and function.attr.startswith("new_")):
        return False
    device = keyword_of(node, "device")
    if device is None or not _is_double(keyword_of(node, "dtype"), file):
        return False
    # What is given as device= is one, whatever it is called.
    return _names_device(device, file) if isinstance(device, ast.Constant) else "cpu" not in file.code(device).lower()


def _is_double(node: ast.expr | None, file: PythonFile) -> bool:
    """Whether a type is float64, which torch takes Python's own ``float`` for."""
    if isinstance(node, ast.Name) and node.id == "float":
        return file.qualname(node) in (None, "float", "builtins.float")
    return file.qualname(node) in _DOUBLE


def _names_device(node: ast.expr | None, file: PythonFile) -> bool:
    """Whether an argument is a device other than the CPU, for all that can be seen."""
    if node is None or _is_double(node, file):
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith(("cuda", "npu"))
    text = file.code(node).lower()
    return "cpu" not in text and ("device" in text or "cuda" in text or "npu" in text)


_COMPLEX = ("torch.view_as_complex", "torch.polar")


@rule(
    "NPU411",
    "complex-in-forward",
    Safety.MANUAL,
    Severity.INFO,
    words=("view_as_complex", "torch.polar"),
    evidence=Evidence.REPORTED,
    source="user reports: 'not implemented for DT_COMPLEX64' from aclnn operators",
)
def complex_in_forward(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A complex tensor is created in a model's step; few NPU kernels support complex numbers.

    Rotary embeddings are the usual case, and can be written with cos and sin of real tensors.
    """
    name = file.qualname(node.func) or ""
    if name not in _COMPLEX:
        return
    yield file.report(
        node,
        phrase(
            "{name} creates a complex tensor; the NPU has few operators for complex numbers, and "
            "they differ by product",
            name=name,
        ),
        subject=name,
        advice="for rotary embeddings, use the form with cos and sin of real tensors, which gives the same numbers",
    )


@rule(
    "NPU416",
    "deterministic-needs-hccl",
    Safety.MANUAL,
    Severity.INFO,
    words=("use_deterministic_algorithms",),
    evidence=Evidence.DOCUMENTED,
    source="the environment variable HCCL_DETERMINISTIC of CANN's collective library",
)
def deterministic_needs_hccl(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``use_deterministic_algorithms`` only affects operators; the reduction order across cards has its own switch.

    Reported only in files that set up several processes.
    """
    if file.qualname(node.func) != "torch.use_deterministic_algorithms" or not node.args:
        return
    first = node.args[0]
    data = file.source.data
    if not (isinstance(first, ast.Constant) and first.value is True) or b"HCCL_DETERMINISTIC" in data:
        return
    if b"init_process_group" not in data and b"torchrun" not in data and b"import torch.distributed" not in data:
        return
    yield file.report(
        node,
        "this makes operators on the NPU deterministic, but not collectives across cards",
        subject="torch.use_deterministic_algorithms",
        advice="with several cards also set HCCL_DETERMINISTIC=true in the environment; both cost time",
    )


_VISION = frozenset(
    (
        "nms batched_nms roi_align roi_pool ps_roi_align ps_roi_pool deform_conv2d RoIAlign RoIPool PSRoIAlign "
        "PSRoIPool DeformConv2d MultiScaleRoIAlign"
    ).split()
)


@rule(
    "NPU417",
    "torchvision-operator",
    Safety.MANUAL,
    Severity.INFO,
    words=("torchvision.ops",),
    evidence=Evidence.REPORTED,
    source="user reports of torchvision::nms and others that fall back to the CPU",
)
def torchvision_operator(node: ast.ImportFrom | ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """torchvision's operators are compiled for the CPU and CUDA; for an NPU they come with Ascend's own build."""
    if isinstance(node, ast.ImportFrom):
        if node.level or not (node.module or "").startswith("torchvision.ops"):
            return
        names = [alias.name for alias in node.names if alias.name in _VISION]
    else:
        name = file.qualname(node) or ""
        names = [node.attr] if name.startswith("torchvision.ops.") and node.attr in _VISION else []
        if isinstance(file.parent(node), ast.Attribute):
            return
    if not names or file.contains(b"torchvision_npu"):
        return
    yield file.report(
        node,
        phrase("torchvision's {names} has no NPU kernel, and runs on the CPU or fails", names=commas(names)),
        subject=f"torchvision.ops.{names[0]}",
        advice="install Ascend's torchvision_npu and import it alongside torchvision, or run this step on the CPU",
    )


@rule(
    "NPU418",
    "mmcv-operator",
    Safety.MANUAL,
    Severity.INFO,
    words=("mmcv.ops",),
    evidence=Evidence.REPORTED,
    source="user reports: 'implementation for device npu:0 not found' from a wheel of mmcv without NPU operators",
)
def mmcv_operator(node: ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """mmcv's operators only run on an NPU in a build of mmcv made for it, and not all of them do.

    Reported once per file.
    """
    if node.level or not f"{node.module}.".startswith("mmcv.ops."):
        return
    if file.project.file_of("mmcv.ops") is not None or file.recall("NPU418"):
        return
    file.remember("NPU418", True)
    yield file.report(
        node,
        phrase(
            "{names}: mmcv's published wheels have no NPU operators", names=commas(alias.name for alias in node.names)
        ),
        subject="mmcv.ops",
        advice="build mmcv from source on the NPU machine with MMCV_WITH_OPS=1 and FORCE_NPU=1",
    )
