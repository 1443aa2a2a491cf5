"""Portable spellings of methods, members and calls that are about CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Safety
from npuify.rules.common.edits.statements import needs_parentheses
from npuify.rules.common.helper_branches import helper
from npuify.rules.common.scripted import in_script
from npuify.source.python import STANDS_FOR_ASYNC
from npuify.styles.spelling import (
    REPLACED,
    chain_span,
    formatted,
    in_formatted_string,
    literal,
)

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_ODD: Final = "this spelling cannot be edited in place"
_IN_SCRIPT: Final = "TorchScript reads no variable of another module: hand the device in as an argument"
_STORAGE: Final = frozenset(("storage", "untyped_storage", "typed_storage"))


def cuda_method(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``x.cuda(0)`` → ``x.to(compute_device.get(0))``; ``getattr`` where the object may be no tensor or module."""
    if not isinstance(node, ast.Attribute) or in_formatted_string(node, file):
        return _ODD
    if not isinstance(node.ctx, ast.Load):
        return REPLACED
    if in_script(node, file):
        return _IN_SCRIPT
    call = file.parent(node)
    span = file.source.attribute_span(node)
    if span is None:
        return _ODD
    if not isinstance(call, ast.Call) or call.func is not node or _by_name_only(node, diagnostic, file):
        return _by_getattr(node, span, file)
    root = helper(file)
    device: str | None = None
    before, parts = "", list[str]()
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if any(isinstance(item, ast.Starred) or (isinstance(item, ast.keyword) and item.arg is None) for item in arguments):
        return _by_getattr(node, span, file)
    given = call.args
    if _is_class(node.value, file):  # torch.Tensor.cuda(x, 0)
        if not given:
            return _by_getattr(node, span, file)
        before, given = f"{file.code(given[0])}, ", given[1:]
    for position, argument in enumerate(given):
        if position == 0:
            device = _device(argument, file)
        else:
            parts.append(f"non_blocking={file.code(argument)}")
    for keyword in call.keywords:
        if keyword.arg == "device":
            device = _device(keyword.value, file)
        else:
            name = "non_blocking" if keyword.arg == STANDS_FOR_ASYNC else keyword.arg
            parts.append(f"{name}={file.code(keyword.value)}")
    inside = file.source.data[span[1] : file.source.end(call)]
    if b"#" in inside or b"\n" in inside or not inside.lstrip().startswith(b"("):
        return _by_getattr(node, span, file)  # (x.cuda)(): what closes belongs to what stands before
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
    one = call.args[0] if call.args else named
    if one is not None and not before and len(call.args) + len(call.keywords) == 1:
        if device == f"{root}.get({file.code(one)})":
            # What stands inside is left as it is: other findings may edit it, or tell of it.
            return [
                file.edit(span[0], file.source.start(one), f"to({root}.get("),
                file.edit(file.source.end(one), file.source.end(call), "))"),
            ]
    where = device or f"{root}.type"
    return [file.edit(span[0], file.source.end(call), f"to({before}{', '.join([where, *parts])})")]


def _is_class(node: ast.expr, file: PythonFile) -> bool:
    """Whether a method is taken from a class, so that the object is the first argument."""
    if file.qualname(node) in ("torch.Tensor", "torch.nn.Module"):
        return True
    values = file.values(node)
    return bool(values) and values.only(Kind.CLASS)


def _device(node: ast.expr, file: PythonFile) -> str:
    """What ``.to`` takes in the place of an argument of ``.cuda``; empty where that is None."""
    match = literal(node, file) if isinstance(node, (ast.Constant, ast.JoinedStr)) else None
    if match is not None and match["text"].startswith("cuda"):
        rest = match["text"][len("cuda") :]
        return formatted(match, f"{{{helper(file)}.type}}{rest}") if rest else f"{helper(file)}.type"
    code = file.code(node)
    return "" if code == "None" else f"{helper(file)}.get({code})"


def _by_name_only(node: ast.Attribute, diagnostic: Diagnostic, file: PythonFile) -> bool:
    """Whether the object may have a ``cuda`` that ``to`` does not stand for: a class's own one, or a storage's."""
    if diagnostic.safety is Safety.REVIEW:
        return True
    value = node.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _STORAGE:
        return True
    if not isinstance(value, ast.Name) or file.is_torch_object(value):
        return False
    if value.id in _STORAGE:
        return True
    return any(
        isinstance(up, ast.Lambda) and any(arg.arg == value.id for arg in up.args.args) for up in file.ancestors(node)
    )


def _by_getattr(node: ast.Attribute, span: tuple[int, int], file: PythonFile) -> list[Edit] | str:
    """``storage.cuda`` → ``getattr(storage, compute_device.type)``."""
    start = file.source.start(node)
    between = file.source.segment(file.source.end(node.value), span[0])
    if between != ".":
        return _ODD
    return [
        file.edit(start, start, "getattr("),
        file.edit(span[0] - 1, span[1], f", {helper(file)}.type)"),
    ]


def is_cuda(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``x.is_cuda`` → ``x.device.type == compute_device.type``."""
    if isinstance(node, ast.Attribute) and in_script(node, file):
        # TorchScript reads no variable of another module.
        value = file.code(node.value)
        return [file.replace(node, f'({value}.is_cuda or {value}.device.type == "npu")')]
    span = file.source.attribute_span(node) if isinstance(node, ast.Attribute) else None
    if span is None or not isinstance(node, ast.Attribute) or in_formatted_string(node, file):
        return _ODD
    edits = [file.edit(*span, f"device.type == {helper(file)}.type")]
    if needs_parentheses(node, file):
        start = file.source.start(node)
        edits = [file.edit(start, start, "("), file.edit(*span, f"device.type == {helper(file)}.type)")]
    return edits


def parameters(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``get_device_name(device=0)`` → ``get_device_name(0)``, since only the names of parameters differ."""
    if isinstance(node, ast.keyword):
        call = file.parent(node)
        if isinstance(call, ast.Call) and not call.args and call.keywords[0] is node:
            return [file.edit(file.source.start(node), file.source.start(node.value), "")]
        return "the two functions name this parameter differently, and it cannot be passed by position here"
    original = file.release.signature(diagnostic.subject)
    known = {parameter.name for parameter in (original.parameters or ())} if original is not None else set()
    if all(edit.after.rstrip("=") in known for edit in diagnostic.edits):
        return list(diagnostic.edits)
    return "the two functions name these parameters differently"


def autocast_state(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``torch.is_autocast_enabled()`` → ``torch.is_autocast_enabled(compute_device.type)``, which torch 2.4 brought."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return _ODD
    if not at_least(file.plan.torch, (2, 4)):
        return "torch before 2.4, which the project allows, only supports this for CUDA"
    span = chain_span(node.func, file)
    opening = file.source.data.find(b"(", file.source.end(node.func))
    if span is None or opening != file.source.end(node.func):
        return _ODD
    function = file.source.segment(*span).replace("_gpu_dtype", "_dtype")
    edits = [] if function == file.source.segment(*span) else [file.edit(*span, function)]
    separator = ", " if node.args or node.keywords else ""
    return [*edits, file.edit(opening + 1, opening + 1, f"{helper(file)}.type{separator}")]


def at_least(version: str, wanted: tuple[int, int]) -> bool:
    """Whether a version is ``wanted`` or later."""
    parts = version.split(".")
    return len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() and (int(parts[0]), int(parts[1])) >= wanted


def default_device(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``torch.amp.GradScaler()`` → ``torch.amp.GradScaler(compute_device.type)``."""
    return [
        file.edit(edit.start, edit.end, edit.after.replace('"npu"', f"{helper(file)}.type"))
        for edit in diagnostic.edits
    ]


def backend_member(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``Backend.NCCL``, which is the string "nccl", → ``compute_device.dist_backend``."""
    span = chain_span(node, file) if isinstance(node, ast.Attribute) else None
    return [file.edit(*span, f"{helper(file)}.dist_backend")] if span else _ODD


def is_nccl_available(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``dist.is_nccl_available()`` → ``dist.is_backend_available(compute_device.dist_backend)``."""
    call = file.parent(node)
    if not isinstance(node, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not node:
        return phrase("ask torch.distributed.is_backend_available({helper}.dist_backend)", helper=helper(file))
    span = file.source.attribute_span(node)
    if span is None or call.args or call.keywords or file.source.data[span[1] : file.source.end(call)] != b"()":
        return _ODD
    if not at_least(file.plan.torch, (2, 1)):
        return "torch before 2.1, which the project allows, may not have is_backend_available"
    text = f"is_backend_available({helper(file)}.dist_backend)"
    return [file.edit(span[0], file.source.end(call), text)]


def nccl_version(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``torch.cuda.nccl.version()`` → that, where this torch has NCCL, else the version of none."""
    root = node
    while isinstance(root, (ast.Call, ast.Attribute)):
        root = root.func if isinstance(root, ast.Call) else root.value
    text = file.code(node)
    if not isinstance(root, ast.Name) or file.qualname(root) != "torch" or "\n" in text:
        return 'call it only where hasattr(torch._C, "_nccl_version") is true'
    return [file.replace(node, f'({text} if hasattr({root.id}._C, "_nccl_version") else (0, 0, 0))')]
