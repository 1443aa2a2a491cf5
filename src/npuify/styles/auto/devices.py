"""Device strings and ``.cuda()`` under ``transfer_to_npu``: whether a patched function takes them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.analysis.flow.devices import is_device_table
from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.devices.device_names.device_strings import is_looked_up
from npuify.styles.auto.comparisons import compared, holds_what_torch_says, sought_in_said
from npuify.styles.portable.strings import table_entry

if TYPE_CHECKING:
    from npuify.analysis.values import Value, Values
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_STRINGS: Final = (
    "Tensor.to Tensor.cuda Tensor.npu Tensor.new_empty Tensor.new_full Tensor.new_ones Tensor.new_tensor "
    "Tensor.new_zeros Tensor.pin_memory nn.Module.to nn.Module.to_empty nn.Module.cuda"
).split()
_METHODS: Final = frozenset(name.rpartition(".")[2] for name in _STRINGS)
"""Methods of tensors and modules that take a device; each counts only where the release's table lists it."""


def method_call(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``x.cuda()`` of tensors and modules is replaced; that of storages is not."""
    if not isinstance(node, ast.Attribute):
        return diagnostic
    value = node.value
    storage = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and "storage" in value.func.attr
    if storage or (isinstance(value, ast.Name) and "storage" in value.id):
        return diagnostic if not file.release.transfer_reaches(f"torch.storage.TypedStorage.{node.attr}") else None
    if not file.release.transfer_reaches(f"torch.Tensor.{node.attr}"):
        return diagnostic
    return _moved_to(diagnostic, node, file)


def _moved_to(diagnostic: Diagnostic, node: ast.Attribute, file: PythonFile) -> Diagnostic | None:
    """``x.cuda(device)`` becomes ``x.to(device)`` where the device is one of CUDA.

    ``transfer_to_npu`` puts ``npu`` in the place of ``cuda`` and does not wrap it: "cuda:1" and torch.device("cuda")
    are refused there, while ``to`` is wrapped. Numbers and None mean the same to both.
    """
    call = file.parent(node)
    if node.attr != "cuda" or not isinstance(call, ast.Call) or call.func is not node:
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
    device = call.args[0] if call.args else named
    if device is None:
        return None
    values = file.values(device, Reach.PROGRAM)
    if not _cuda_device(values) and (values.is_known or not _is_text(device)):
        return _perhaps_device(diagnostic, device, values, file)
    edit = file.rename_attribute(node, "to")
    if edit is None or len(call.args) > 2:
        return diagnostic._replace(
            edits=(), severity=Severity.ERROR, advice="write .to(device)", message=_NOT_WRAPPED, needs_torch_npu=False
        )
    edits = [edit]
    if len(call.args) == 2:
        start = file.source.start(call.args[1])
        edits.append(file.edit(start, start, "non_blocking="))
    return diagnostic._replace(edits=tuple(edits), message=_NOT_WRAPPED, needs_torch_npu=False)


_NOT_WRAPPED: Final = "transfer_to_npu turns .cuda() into .npu(), which accepts no CUDA device; .to() does"


def _perhaps_device(diagnostic: Diagnostic, node: ast.expr, values: Values, file: PythonFile) -> Diagnostic | None:
    """What is told of ``x.cuda(device)`` where the device may be one of CUDA's, and may be a number or None as well."""
    # An object of a class of the program's may be a text, too, and is no number.
    named = any(_cuda_value(value) or value.kind in (Kind.INSTANCE, Kind.HEIR) for value in values)
    # A package's setting is known by its name only.
    is_told = values.is_known and not values.only(Kind.LIBRARY_NAME)
    if not named and (is_told or not (file.denotes_device(node) or _is_looked_up(node, file))):
        return None
    return diagnostic._replace(
        edits=(),
        safety=Safety.MANUAL,
        severity=Severity.WARNING,
        advice="write .to(device) unless this may be None",
        message=phrase("{NOT_WRAPPED}; this may be one", NOT_WRAPPED=_NOT_WRAPPED),
        needs_torch_npu=False,
    )


def _is_looked_up(node: ast.expr, file: PythonFile) -> bool:
    """Whether something comes out of a container, an object or a function, and nothing there is called a number."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if len(name) < _SHORTEST or "cuda" in name.lower():
            return False
    elif not isinstance(node, (ast.Subscript, ast.Call)):
        return False
    return _NUMBERS.search(file.code(node).lower()) is None


_SHORTEST: Final = 4
"""Letters of a name that says something; shorter ones count."""
_NUMBERS: Final = re.compile(r"(?<![a-z])(?:int|num|count|index|idx|(?:gpu|rank|id|gpuid|card)s?)(?![a-z])")


def _is_text(node: ast.expr) -> bool:
    """Whether something is a text by how it is written: ``"%s:%d" % place``, ``"cuda:" + str(rank)``."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return _is_text(node.left) or (isinstance(node.op, ast.Add) and _is_text(node.right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("format", "join") and _is_text(node.func.value)
    return isinstance(node, ast.JoinedStr)


def _cuda_device(values: Values) -> bool:
    """Whether something surely is a ``torch.device`` that the program makes, or a text.

    None would mean the current device to ``.cuda()``, and nothing to ``.to()``; what tensors say is no device of CUDA.
    """
    return bool(values) and all(_cuda_value(value) for value in values)


def _cuda_value(value: Value) -> bool:
    # A text that ``.cuda()`` takes is the name of a CUDA device, wherever it comes from.
    if value.kind is Kind.DEVICE_STRING:
        return not value.name.lower().startswith("npu")
    return value.kind is Kind.STRING or (value.kind is Kind.DEVICE and value.name == "torch.device")


def device_string(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """A device string is replaced where a patched function takes it; what a tensor on an NPU says is never that."""
    if not diagnostic.edits:
        return diagnostic
    parent = file.parent(node)
    if (
        isinstance(parent, ast.Dict)
        and isinstance(node, ast.Constant)
        and node in parent.keys
        and (is_device_table(parent) or is_looked_up(parent, file))
    ):
        entry = table_entry(node, parent, file)
        return diagnostic.refused(entry) if isinstance(entry, str) else diagnostic._replace(edits=tuple(entry))
    if _is_member_of_enum(node, file):
        return diagnostic._replace(
            edits=(),
            severity=Severity.WARNING,
            message="a kind of device in an Enum: what a tensor on an NPU says is none of its values",
            advice='add a member for "npu", or look the device up by another name',
        )
    if _is_of_literal(node, file):
        return diagnostic._replace(
            edits=(),
            severity=Severity.WARNING,
            message="a kind of device in a Literal that is asked for its values: a tensor on an NPU says none of them",
            advice='add "npu" to the Literal',
        )
    found = compared(diagnostic, node, "npu", file)
    if found is not None:
        return found
    if sought_in_said(node, "npu", file) or holds_what_torch_says(
        node, file, is_unknown=diagnostic.safety is Safety.REVIEW
    ):
        return diagnostic._replace(
            edits=(),
            severity=Severity.WARNING,
            message=phrase(
                "transfer_to_npu does not change what this is compared with: on an NPU it is {other!r}", other="npu"
            ),
            advice=phrase('look for "{other}" as well', other="npu"),
        )
    if not isinstance(node, (ast.Constant, ast.JoinedStr)):
        return None
    call = _taking(node, file)
    if call is None:
        return None
    name = file.qualname(call.func) or ""
    if not name.startswith("torch.") or name.startswith(("torch.nn.", "torch.optim.", "torch.utils.data.")):
        return None
    if name == "torch.device" or _reaches_call(name, call, file):
        return None
    return diagnostic


def _is_member_of_enum(node: ast.AST, file: PythonFile) -> bool:
    """Whether a string is the value of a member of an ``Enum``."""
    assign = file.parent(node)
    holder = file.parent(assign) if isinstance(assign, ast.Assign) and assign.value is node else None
    return isinstance(holder, ast.ClassDef) and any(
        (file.qualname(base) or "") in ("enum.Enum", "enum.StrEnum") for base in holder.bases
    )


def _is_of_literal(node: ast.AST, file: PythonFile) -> bool:
    """Whether a string is one of a ``Literal`` and the file asks for the values of one with ``get_args``."""
    listed = file.parent(node)
    around = file.parent(listed) if isinstance(listed, ast.Tuple) else listed
    if not isinstance(around, ast.Subscript) or b"get_args" not in file.source.data:
        return False
    return (file.qualname(around.value) or "").rpartition(".")[2] == "Literal"


def _taking(node: ast.expr, file: PythonFile) -> ast.Call | None:
    """The call that takes a string as one of its arguments, directly or as a choice of ``a if … else b``."""
    current: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, ast.IfExp) and current is not up.test:
            current = up
            continue
        if isinstance(up, ast.keyword):
            current = up
            continue
        if isinstance(up, ast.Dict):
            current = up
            continue
        return up if isinstance(up, ast.Call) and current is not up.func else None
    return None


_CLASSES: Final = {
    "torch.autocast": "torch.amp.autocast_mode.autocast.__init__",
    "torch.amp.autocast": "torch.amp.autocast_mode.autocast.__init__",
    "torch.cuda.device": "torch.cuda.device.__init__",
}


def _reaches_call(name: str, call: ast.Call, file: PythonFile) -> bool:
    """Whether ``transfer_to_npu`` wraps a function so that CUDA's name in its arguments becomes the NPU's.

    It wraps those that it lists one by one; what it takes over with a whole module is not wrapped.
    """
    wrapped = file.release.transfer_patches
    if _CLASSES.get(name, name) in wrapped:
        return True
    word = name.rpartition(".")[2]
    return word in _METHODS and any(f"torch.{method}" in wrapped for method in _STRINGS if method.endswith(f".{word}"))
