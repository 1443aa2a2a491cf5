"""What denotes a device, or its type: by what it is known to be, or by the names that programs give to devices."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.flow.device_names import gives_device, names_device
from npuify.analysis.library.lookup import is_device_text
from npuify.analysis.operators import formatted
from npuify.analysis.targets import bound_by
from npuify.analysis.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel

_KEPT_BY = frozenset(("lower", "split", "strip", "get", "partition", "pop"))
"""Methods whose result still says the device that their object says."""
_FALLBACK_KEYS = ("default", "any", "else", "other", "*")


def denotes_device(node: ast.expr, file: FileModel, model: Engine) -> bool:
    """Whether an expression denotes a device or its type: ``x.device``, ``device.type``, ``str(args.device)``."""
    return _named_so(node, file, model) or is_surely_device(node, file, model)


def is_surely_device(node: ast.expr, file: FileModel, model: Engine) -> bool:
    """Whether an expression is a device, or the type that a device has: no text of the program itself."""
    values = model.values(node, file)
    return bool(values.of_kind(Kind.DEVICE)) or any(not value.name for value in values.of_kind(Kind.DEVICE_STRING))


def _named_so(node: ast.expr, file: FileModel, model: Engine) -> bool:
    if isinstance(node, ast.Name):
        return names_device(node.id) or _bound_to_device(node, file, model)
    if isinstance(node, ast.Attribute):
        if node.attr == "type":
            return denotes_device(node.value, file, model)
        return names_device(node.attr)
    if isinstance(node, ast.Call):
        return _call_says_device(node, file, model)
    if isinstance(node, ast.Subscript):
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return names_device(key.value)
        return _named_so(node.value, file, model)
    return isinstance(node, ast.BoolOp) and any(_named_so(value, file, model) for value in node.values)


def _call_says_device(node: ast.Call, file: FileModel, model: Engine) -> bool:
    function, args = node.func, node.args
    if isinstance(function, ast.Name) and function.id in ("str", "repr", "getattr") and args:
        if function.id == "getattr" and len(args) > 1 and isinstance(args[1], ast.Constant):
            word = args[1].value
            if word == "type":
                return denotes_device(args[0], file, model)
            return isinstance(word, str) and names_device(word)
        return denotes_device(args[0], file, model)
    if isinstance(function, ast.Attribute) and function.attr in _KEPT_BY:
        if function.attr in ("get", "pop") and args and isinstance(args[0], ast.Constant):
            # Of a file of settings: get("run", "device").
            words = [one.value for one in args[:2] if isinstance(one, ast.Constant)]
            return any(isinstance(word, str) and names_device(word) for word in words)
        return denotes_device(function.value, file, model)
    return gives_device(function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", ""))


def _bound_to_device(node: ast.Name, file: FileModel, model: Engine) -> bool:
    """Whether a name is bound to what gives a device by its name."""
    found = file.scope(node).lookup(node.id)
    for binding in found[1] if found is not None else ():
        bound = bound_by(binding, file)
        if (
            bound is not None
            and bound.how == "value"
            and bound.path == (0,)
            and _is_taken_apart(bound.source, file, model)
        ):
            return True
        source = bound.source if bound is not None and bound.how == "value" and not bound.path else None
        if _is_text_of_device(source):
            return True
        if isinstance(source, ast.Call):
            function = source.func
            if gives_device(function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")):
                return True
        elif isinstance(source, ast.Attribute):
            if source.attr in ("device", "device_type"):
                return True
            if source.attr == "type" and getattr(source.value, "id", "") != node.id:
                if denotes_device(source.value, file, model):
                    return True
    return False


def _is_text_of_device(node: ast.expr | None) -> bool:
    """``str(x.device)``, ``f"{x.device}"`` and ``"%s" % x.device``."""
    inner = formatted(node) if node is not None else None
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("str", "repr", "format") and len(node.args) == 1:
        inner = node.args[0]
    return isinstance(inner, ast.Attribute) and names_device(inner.attr)


def _is_taken_apart(node: ast.expr | None, file: FileModel, model: Engine) -> bool:
    """Whether a device's name is taken apart at its colon: its first part is the type."""
    function = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("split", "partition")
        and denotes_device(function.value, file, model)
    )


# --- what lists devices ---


def lists_devices(elements: Iterable[ast.expr | None]) -> bool:
    """Whether strings are names of devices, one of them another than CUDA."""
    words = [item.value for item in elements if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return (
        len(words) >= 2
        and all(is_device_text(word) for word in words)
        and any(not word.lower().startswith(("cuda", "hip")) for word in words)
    )


def allows_devices(annotation: ast.expr | None) -> bool:
    """Whether an annotation is ``Literal["cuda", "cpu"]``, also within ``Optional`` or a union."""
    return annotation is not None and any(
        isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Tuple) and lists_devices(part.slice.elts)
        for part in ast.walk(annotation)
    )


# --- tables of devices ---


def is_device_table(table: ast.Dict) -> bool:
    """Whether the keys of a dict are device types."""
    keys = [key for key in table.keys if isinstance(key, ast.Constant) and key.value not in _FALLBACK_KEYS]
    more = len(table.keys) > len(keys)
    return lists_devices(keys) or (more and [key.value for key in keys] == ["cuda"])


def device_table_entry(node: ast.AST, file: FileModel) -> tuple[ast.expr, ast.Dict] | None:
    """The key and the table, where ``node`` stands in the value of a device table's entry for cuda."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Dict) and current in up.values:
            key = up.keys[up.values.index(current)]
            if isinstance(key, ast.Constant) and key.value == "cuda" and is_device_table(up):
                return key, up
        if isinstance(up, (ast.stmt, ast.Lambda)):
            return None
        current = up
    return None
