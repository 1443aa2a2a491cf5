"""Operators and types that an NPU runs slowly, on the CPU, or not at all, although no name says so."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.calls import argument, imports_torch, keyword_of
from npuify.rules.registry import rule
from npuify.rules.text_checks import compared, outside_modules
from npuify.source.python import dotted_text
from npuify.source.types import TENSOR, infer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


def in_module_class(node: ast.AST, file: PythonFile) -> bool:
    """Whether a place is in a class that has a ``forward``, so that it runs in the model's step."""
    return any(isinstance(up, ast.ClassDef) and file.source.has_method(up, "forward") for up in file.ancestors(node))


_DOUBLE = frozenset(("torch.float64", "torch.double"))
_CHOSEN_BEFORE = re.compile(rb"\belse\s*\Z")
_CHOSEN = re.compile(rb"\s+if\b")
_MOVED = re.compile(rb"[\s)\\]*(?:#.*\s*)*\.\s*(?:to|cuda|npu)\b")
_CONVERTED = re.compile(rb"\.to\(\s*\Z")
_MADE = re.compile(rb"\w\((?![^()]*(?:device|cuda|npu))[^()#]*\bdtype\s*=\s*\Z")
_CLOSED = re.compile(rb"\s*\)")


def _no_double_on_device(lower: bytes, start: int, end: int) -> bool:
    """Whether the text around a word says that no call names both the type and a device."""
    if lower[start : start + 1] == b".":
        return _MOVED.match(lower, end) is None  # .double()
    near = max(start - 200, 0)
    if compared(lower, start + len(b"torch."), end):
        return True
    if _CHOSEN.match(lower, end) or _CHOSEN_BEFORE.search(lower, near, start):
        return True
    if not _CLOSED.match(lower, end):
        return False
    if _CONVERTED.search(lower, near, start):
        return _MOVED.match(lower, end) is None
    return _MADE.search(lower, near, start) is not None


@rule(
    "NPU410",
    "float64-on-device",
    Safety.MANUAL,
    Severity.WARNING,
    words=("torch.float64", "torch.double", ".double()"),
    skip_if=_no_double_on_device,
    evidence=Evidence.REPORTED,
    source="users' reports: 'not implemented for DT_DOUBLE' from aclnn operators, and results computed in float32",
)
def float64_on_device(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A tensor of double precision is made on, or moved to, the device.

    Few NPU kernels take ``float64``: others raise, run on the CPU, or compute in ``float32``. Only calls that name both
    the type and a device are reported; double precision on the CPU is no trouble.
    """
    name = file.qualname(node.func) or ""
    if name == "torch.set_default_dtype":
        if not node.args or file.qualname(node.args[0]) not in _DOUBLE:
            return
        what = "float64 becomes the default type"
    elif _double_with_device(node, name, file):
        what = "a float64 tensor on the device"
    else:
        return
    yield file.report(
        node,
        f"{what}; few NPU kernels take float64",
        subject="torch.float64",
        advice="use float32 on the NPU, or do this part on the CPU and move the result",
    )


def _double_with_device(node: ast.Call, name: str, file: PythonFile) -> bool:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in ("to", "cuda", "npu"):
        inner = function.value
        moved = function.attr != "to" or _names_device(node.args[0] if node.args else keyword_of(node, "device"), file)
        if moved and isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            if inner.func.attr == "double" and not inner.args:
                return True
            if inner.func.attr == "to" and inner.args and file.qualname(inner.args[0]) in _DOUBLE:
                return True
        if function.attr != "to":
            return False
        dtype = node.args[1] if len(node.args) > 1 else keyword_of(node, "dtype")
        return moved and file.qualname(dtype) in _DOUBLE
    if not name.startswith("torch.") and not (isinstance(function, ast.Attribute) and function.attr.startswith("new_")):
        return False
    return file.qualname(keyword_of(node, "dtype")) in _DOUBLE and _names_device(keyword_of(node, "device"), file)


def _names_device(node: ast.expr | None, file: PythonFile) -> bool:
    """Whether an argument is a device other than the CPU, for all that can be seen."""
    if node is None or file.qualname(node) in _DOUBLE:
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
    source="users' reports: 'not implemented for DT_COMPLEX64' from aclnn operators",
)
def complex_in_forward(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A complex tensor is made in a model's step; few NPU kernels take complex numbers.

    Rotary embeddings are the usual case, and can be written with sine and cosine of real tensors.
    """
    name = file.qualname(node.func) or ""
    if name not in _COMPLEX:
        return
    yield file.report(
        node,
        f"{name} makes a complex tensor; the NPU's operators for complex numbers are few, and differ by product",
        subject=name,
        advice="for rotary embeddings use the form with cos and sin of real tensors; it gives the same numbers",
    )


_DYNAMIC = {
    "nonzero": "a mask and torch.where, where the places themselves are not needed",
    "argwhere": "a mask and torch.where, where the places themselves are not needed",
    "where": "torch.where with three arguments, where the places themselves are not needed",
    "unique": "it before the step, on the CPU, where the values are known there",
    "unique_consecutive": "it before the step, on the CPU, where the values are known there",
    "masked_select": "a product with the mask, and divide by the mask's sum",
    "repeat_interleave": "output_size=, so that the size need not be fetched",
}
_TENSOR_ONLY = frozenset(("masked_select", "repeat_interleave", "unique_consecutive"))
_BY_NUMBER = re.compile(rb"\s*\(\s*(?:repeats\s*=\s*)?\d+\s*[,)]")
_FAR = 2000
"""Bytes of a call's arguments that are looked at."""


def _shape_known(lower: bytes, start: int, end: int) -> bool:
    """Whether the text beside a word of NPU412 says that no shape depends on data there."""
    word = lower[start:end]
    if word == b"repeat_interleave" and _BY_NUMBER.match(lower, end):
        return True
    return (word == b"torch.where" and _has_choices(lower, end)) or outside_modules(lower, start, end)


def _has_choices(lower: bytes, end: int) -> bool:
    """Whether ``torch.where`` is given more than a mask, as the text behind its name tells."""
    depth = 0
    for at in range(end, min(end + _FAR, len(lower))):
        sign = lower[at : at + 1]
        if sign in b"([{":
            depth += 1
        elif sign in b")]}":
            depth -= 1
            if depth < 1:
                break
        elif sign == b"," and depth == 1:
            return lower[at + 1 : at + _FAR].lstrip()[:1] not in (b")", b"#")
        elif sign in b"\"'#":
            break  # what stands in a text or a comment is no argument
    return False


@rule(
    "NPU412",
    "shape-from-data",
    Safety.MANUAL,
    Severity.INFO,
    words=(
        "torch.nonzero",
        "nonzero(as_tuple",
        "torch.argwhere",
        "torch.where",
        "torch.unique",
        "masked_select",
        "repeat_interleave",
    ),
    skip_if=_shape_known,
    evidence=Evidence.DOCUMENTED,
    source="PyTorch documents that these wait for the device; msprof-analyze's rule for synchronising operators",
)
def shape_from_data(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """In a model's step, the shape of a result depends on the data.

    The host waits for the device to learn the shape, and each new shape may need a kernel to be prepared anew, which
    costs an NPU more than a GPU.
    """
    function = node.func
    word = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    name = file.qualname(function) or ""
    if name.startswith("torch.") and name.count(".") == 1:
        word, method = name[6:], False
    else:
        method = True
    if word not in _DYNAMIC or not in_module_class(node, file):
        return
    if method:
        if not isinstance(function, ast.Attribute) or name.startswith(("numpy", "torch.")):
            return
        torch_only = word in _TENSOR_ONLY or keyword_of(node, "as_tuple") is not None
        if not torch_only and infer(function.value, file.source, file.scope(node)) != TENSOR:
            return
    if word == "repeat_interleave" and not _repeats_from_data(node, method, file):
        return
    if word == "where" and not _mask_alone(node):
        return
    yield file.report(
        node,
        f"{word}: the shape of its result depends on the data, so the host waits for the NPU here",
        subject=f"torch.{word}",
        advice=f"if this runs in every step, use {_DYNAMIC[word]}",
    )


def _mask_alone(node: ast.Call) -> bool:
    """Whether ``torch.where`` gets a condition and nothing to choose from, which makes it ``nonzero``."""
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return len(given) == 1 and not isinstance(given[0], ast.Starred)


_COUNTS = re.compile(r"(?:^|_)(?:lens|lengths|seqlens|counts)(?:_|$)|(?:lens|lengths|counts)$")
"""What tensors of counts are called in programs, where no type is to be seen."""
_OF_A_SHAPE = frozenset(("size", "numel", "dim", "item"))


def _repeats_from_data(node: ast.Call, method: bool, file: PythonFile) -> bool:
    """Whether ``repeat_interleave`` gets its counts from a tensor, as far as can be seen, and is not told their sum."""
    if keyword_of(node, "output_size") is not None:
        return False
    repeats = argument(node, 0 if method else 1, "repeats")
    if repeats is None:
        return not method and len(node.args) == 1 and not node.keywords
    return _counts(repeats, file)


def _counts(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression surely is a tensor: by its type, or by the name for a tensor of counts."""
    if isinstance(node, ast.Name) and _COUNTS.search(node.id):
        return True
    if isinstance(node, ast.BinOp):
        return _counts(node.left, file) or _counts(node.right, file)
    if isinstance(node, ast.Subscript):
        # One element of a list is a number; a part of it is none.
        return isinstance(node.slice, ast.Slice) and _counts(node.value, file)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_A_SHAPE:
        return False
    return infer(node, file.source, file.scope(node)) == TENSOR


@rule(
    "NPU413",
    "boolean-mask-index",
    Safety.MANUAL,
    Severity.INFO,
    words=("[mask]", "[~mask]", " > 0]", " > 0.5]", " != -100]"),
    skip_if=outside_modules,
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source="PyTorch indexes by a boolean tensor through nonzero, which waits for the device",
)
def boolean_mask_index(node: ast.Subscript, file: PythonFile) -> Iterator[Diagnostic]:
    """In a model's step a tensor is indexed by a boolean mask, so that the result's shape depends on the data.

    Reported only where the mask is made by a comparison beside it. Looked for in files that are of interest anyway.
    """
    mask = node.slice
    if not isinstance(node.ctx, ast.Load) or not imports_torch(file) or not in_module_class(node, file):
        return
    name = mask.operand if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert) else mask
    if isinstance(name, ast.Name):
        found = file.scope(node).lookup(name.id)
        if name.id != "mask" or found is None or not found[1]:
            return
        if not all(_is_mask(binding.value, file) for binding in found[1]):
            return
    elif not isinstance(mask, ast.Compare) or not _is_mask(mask, file):
        return
    # What is compared and indexed by the outcome is an array: no list can be.
    by_itself = isinstance(mask, ast.Compare) and dotted_text(mask.left) == (dotted_text(node.value) or "?")
    if not by_itself and infer(node.value, file.source, file.scope(node)) != TENSOR:
        return
    if isinstance(mask, ast.Compare) and not by_itself:
        if infer(mask.left, file.source, file.scope(node)) != TENSOR:
            return
    yield file.report(
        node,
        f"indexing by the mask {file.code(mask)}: the shape of the result depends on the data, so the host waits "
        "for the NPU",
        subject="torch.Tensor.__getitem__",
        advice="if this runs in every step, keep the shape: torch.where, masked_fill, or a sum weighted by the mask",
    )


def _is_mask(value: ast.expr | None, file: PythonFile) -> bool:
    """Whether an expression compares tensors element by element."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Invert):
        return True
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.BitAnd, ast.BitOr)):
        return _is_mask(value.left, file) and _is_mask(value.right, file)
    return (
        isinstance(value, ast.Compare)
        and len(value.ops) == 1
        and isinstance(value.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE, ast.Eq, ast.NotEq))
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
    """``use_deterministic_algorithms`` reaches the operators; the order of sums among cards has its own switch.

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
        "deterministic operators on the NPU; collectives among cards are another matter",
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
    source="users' reports of torchvision::nms and others that fall back to the CPU",
)
def torchvision_operator(node: ast.ImportFrom | ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """Operators of torchvision are compiled for the CPU and CUDA; on an NPU they come with Ascend's own build."""
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
        f"torchvision's {', '.join(names)} has no NPU kernel of its own and runs on the CPU or fails",
        subject=f"torchvision.ops.{names[0]}",
        advice="install Ascend's torchvision_npu and import it beside torchvision, or do this step on the CPU",
    )


@rule(
    "NPU418",
    "mmcv-operator",
    Safety.MANUAL,
    Severity.INFO,
    words=("mmcv.ops",),
    evidence=Evidence.REPORTED,
    source="users' reports: 'implementation for device npu:0 not found' from a wheel of mmcv without NPU operators",
)
def mmcv_operator(node: ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """mmcv's operators run on an NPU only in a build of mmcv made for it, and not all of them do.

    Reported once a file.
    """
    if node.level or not f"{node.module}.".startswith("mmcv.ops."):
        return
    if file.project.file_of("mmcv.ops") is not None or file.recall("NPU418"):
        return
    file.remember("NPU418", True)
    yield file.report(
        node,
        f"{', '.join(alias.name for alias in node.names)}: the published wheels of mmcv have no NPU operators",
        subject="mmcv.ops",
        advice="build mmcv from source on the NPU machine with MMCV_WITH_OPS=1 and FORCE_NPU=1",
    )
