"""A legacy CUDA type as the default tensor type, and the constructors whose results it puts on the card."""

from __future__ import annotations

import ast
import contextlib
import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.engine import Reach
from npuify.language import phrase, semicolons
from npuify.model import Safety, Severity
from npuify.rules.common.edits.statements import indentation
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

SETTER = "torch.set_default_tensor_type"
_DTYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}
_TYPE = re.compile(r"torch\.(cuda\.)?(Float|Double|Half|BFloat16)Tensor")
_SETS_CUDA = re.compile(rb"set_default_tensor_type\([^()\n]{0,120}torch\.cuda\.\w+Tensor")
_SOURCE = "torch.set_default_tensor_type of the imported torch_npu, in the releases 2.1 to 2.14"


class _Default(NamedTuple):
    """What a default tensor type stands for."""

    dtype: str
    device: str
    """Source text."""
    is_cuda: bool


def sets_cuda_as_default(data: bytes) -> bool:
    """Whether a file's text makes a type of CUDA's the default, for each file of the program."""
    return b"set_default_tensor_type" in data and _SETS_CUDA.search(data) is not None


def may_make_default_type(data: bytes) -> bool:
    """Whether a file's text may make tensors of the default type, with ``torch.Tensor(…)``."""
    return b"orch.Tensor(" in data or b"th.Tensor(" in data


def is_default_type(node: ast.AST, file: PythonFile) -> bool:
    """Whether a type is what ``torch.set_default_tensor_type`` is given."""
    for up in file.ancestors(node):
        if isinstance(up, ast.Call):
            return file.qualname(up.func) == SETTER
        if not isinstance(up, (ast.IfExp, ast.keyword)):
            return False
    return False


@rule("NPU135", "default-tensor-type", Safety.SAFE, words=("set_default_tensor_type",), source=_SOURCE)
def default_tensor_type(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """torch_npu takes no type of its own as the default tensor type: dtype and device are set apart.

    Before::

        import torch
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        x = torch.zeros(2)

    After::

        import torch
        import torch_npu  # noqa: F401
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("npu")
        x = torch.zeros(2)
    """
    if file.qualname(node.func) != SETTER or len(node.args) + len(node.keywords) != 1:
        return
    given = node.args[0] if node.args else node.keywords[0].value
    default = _default(given, file)
    if default is None:
        if "cuda" in file.code(given) or _may_be_cuda(given, file):
            yield _by_hand(node, file)
        return
    # Back to the CPU, which says nothing of the device that was set instead.
    if not default.is_cuda and not sets_cuda_as_default(file.source.data):
        return
    edit = _edit(node, default, file)
    if edit is None:
        yield _by_hand(node, file)
        return
    said = [
        phrase("torch_npu refuses {given} as the default tensor type", given=file.code(given)),
        phrase("dtype and device are set apart"),
    ]
    yield file.report(
        node,
        semicolons(said),
        edits=[edit],
        subject=SETTER,
        safety=Safety.REVIEW if default.dtype == "float64" else Safety.SAFE,
        advice="NPUs hardly compute in float64" if default.dtype == "float64" else "",
        needs_torch_npu=default.is_cuda,
    )


def _default(node: ast.expr, file: PythonFile) -> _Default | None:
    if isinstance(node, ast.IfExp):
        one, other = _default(node.body, file), _default(node.orelse, file)
        if one is None or other is None or one.dtype != other.dtype:
            return None
        device = f"{one.device} if {file.code(node.test)} else {other.device}"
        return _Default(one.dtype, device, one.is_cuda or other.is_cuda)
    name = node.value if isinstance(node, ast.Constant) else file.qualname(node)
    match = _TYPE.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        return None
    return _Default(_DTYPES[match[2]], '"npu"' if match[1] else '"cpu"', match[1] is not None)


def _may_be_cuda(given: ast.expr, file: PythonFile) -> bool:
    """Whether a type may be one of CUDA's by what its name, or what holds it, is given anywhere in the project."""
    if not isinstance(given, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return False
    if isinstance(given, ast.Name) and any(
        one is not None and "cuda" in file.code(one) for one in file.assigned(given)
    ):
        return True
    values = file.values(given, Reach.PROGRAM)
    return any(".cuda." in value.name for value in values) or not values.is_known


def _edit(node: ast.Call, default: _Default, file: PythonFile) -> Edit | None:
    statement, torch = file.parent(node), file.code(node.func).removesuffix("set_default_tensor_type")
    if not isinstance(statement, ast.Expr) or not torch or "\n" in default.device:
        return None
    indent = indentation(statement, file)
    between = "; " if indent is None else f"{file.source.text.newline}{indent}"
    dtype, device = f"{torch}set_default_dtype({torch}{default.dtype})", f"{torch}set_default_device({default.device})"
    return file.replace(statement, dtype + between + device)


def _by_hand(node: ast.Call, file: PythonFile) -> Diagnostic:
    return file.report(
        node,
        "torch_npu takes no type of its own as the default tensor type",
        subject=SETTER,
        advice="call torch.set_default_dtype and torch.set_default_device",
    )


def _may_make(data: bytes, project: ProjectIndex) -> bool:
    """Whether a file makes tensors of the default type, and the program sets a type of CUDA's as that."""
    return may_make_default_type(data) and cuda_is_default(data, project)


@rule(
    "NPU136",
    "legacy-constructor-of-default-type",
    Safety.SAFE,
    Severity.ERROR,
    words=("torch.tensor(", "th.tensor("),
    common_words=True,
    concerns=_may_make,
    source=_SOURCE,
)
def legacy_constructor(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.Tensor(…)`` makes tensors of the default type, on the card where that is CUDA's; it knows no default
    device, and refuses that of an NPU.

    Before::

        import torch
        torch.set_default_tensor_type(torch.cuda.FloatTensor)
        noise = torch.Tensor(4, 8).normal_()
        scale = torch.Tensor([1.0, 0.5])

    After::

        import torch
        import torch_npu  # noqa: F401
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("npu")
        noise = torch.empty(4, 8).normal_()
        scale = torch.tensor([1.0, 0.5], dtype=torch.get_default_dtype())
    """
    if file.qualname(node.func) != "torch.Tensor" or not isinstance(node.func, ast.Attribute):
        return
    if (
        any(keyword.arg != "device" for keyword in node.keywords)
        or not cuda_is_default(file.source.data, file.project)
        or _is_moved(node, file)
    ):
        return
    yield file.report(
        node,
        "torch.Tensor(…) is made on the CPU, whatever the default device is",
        edits=[*_made_there(node, file)],
        subject="torch.Tensor",
    )


def cuda_is_default(data: bytes, project: ProjectIndex) -> bool:
    """Whether the program sets a type of CUDA's as its default, in a file with this text or in another one."""
    if sets_cuda_as_default(data):
        return True
    return project.once(SETTER, _sets_cuda_somewhere)


def _sets_cuda_somewhere(project: ProjectIndex) -> bool:
    for name in project.files_with(b"set_default_tensor_type"):
        with contextlib.suppress(OSError):
            if sets_cuda_as_default(project.read(name)):
                return True
    return False


def _is_moved(node: ast.Call, file: PythonFile) -> bool:
    parent = file.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda", "npu", "cpu", "type", "tolist", "numpy")


def _made_there(node: ast.Call, file: PythonFile) -> Iterator[Edit]:
    """Functions that follow the default device, or a move to the device that is asked for."""
    assert isinstance(node.func, ast.Attribute)
    torch, end = file.code(node.func.value), file.source.end(node)
    if node.keywords:
        (keyword,) = node.keywords
        start = file.source.end(node.args[-1]) if node.args else file.source.start(keyword.value) - len("device=")
        yield file.edit(start, end, f").to({file.code(keyword.value)})")
        return
    name: str | None = None
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred) or _is_number(node.args[0]):
        name = "empty"
    elif isinstance(node.args[0], (ast.List, ast.Tuple, ast.ListComp)):
        name = "tensor"
    renamed = file.rename_attribute(node.func, name) if name else None
    if renamed is None:
        yield file.edit(end, end, f".to({torch}.empty(0).device)")
        return
    yield renamed
    if not node.args:
        yield file.edit(end - 1, end - 1, "0")
    if name == "tensor":
        given = file.source.end(node.args[0])
        yield file.edit(given, given, f", dtype={torch}.get_default_dtype()")


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
