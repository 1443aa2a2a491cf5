"""What an expression stands for, by its form. Names, calls, classes and containers have modules of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from npuify.analysis.bindings import values_of_name
from npuify.analysis.calls import as_text, values_of_call
from npuify.analysis.containers import key_of
from npuify.analysis.library.lookup import text
from npuify.analysis.operators import combined, formatted
from npuify.analysis.values import NONE, NOTHING, UNKNOWN, Kind, Value, made, one, union, unknown
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.values import Values

_LONGEST_NUMBER = 8
_TEXT = Value(Kind.STRING)


def evaluate(node: ast.expr, file: FileModel, model: Engine) -> Values:
    """What an expression may stand for."""
    form = _FORMS.get(type(node))
    if form is None:
        return unknown(file.place(node), phrase("{name} is not followed", name=type(node).__name__))
    return form(node, file, model)


def _constant(node: ast.Constant, file: FileModel, model: Engine) -> Values:
    value = node.value
    if value is None:
        return one(NONE)
    if isinstance(value, str):
        found = text(value)
    elif isinstance(value, (int, float, complex)):
        said = repr(value)
        found = Value(Kind.NUMBER, said if len(said) <= _LONGEST_NUMBER else "")
    elif isinstance(value, bytes):
        found = Value(Kind.STRING)
    else:
        found = Value(Kind.LIBRARY_OBJECT, "builtins.Ellipsis")
    return made(found, file.place(node), "written here")


def _f_string(node: ast.JoinedStr, file: FileModel, model: Engine) -> Values:
    first = node.values[0] if node.values else None
    word = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    if (len(node.values) == 2 and word.endswith(":")) or (len(node.values) == 1 and word):
        found = text(word)
    elif isinstance(first, ast.FormattedValue) and len(node.values) == 1 and first.format_spec is None:
        # f"{x.device}"
        return model.values(first.value, file).each(as_text).through(file.place(node), "as text, in an f-string")
    elif isinstance(first, ast.FormattedValue) and _is_colon(node.values[1:2]):
        # f"{kind}:{number}"
        return model.values(first.value, file).each(
            lambda value: Value(Kind.DEVICE_STRING, value.name) if value.kind is Kind.DEVICE_STRING else _TEXT
        )
    else:
        found = Value(Kind.STRING)
    return made(found, file.place(node), "written here")


def _is_colon(parts: list[ast.expr]) -> bool:
    return bool(parts) and isinstance(parts[0], ast.Constant) and parts[0].value == ":"


def _name(node: ast.Name, file: FileModel, model: Engine) -> Values:
    return values_of_name(node, file, model)


def _attribute(node: ast.Attribute, file: FileModel, model: Engine) -> Values:
    values = model.attribute(model.values(node.value, file), node.attr, file)
    if UNKNOWN in values and not values.why(UNKNOWN):
        return values.without(UNKNOWN) | unknown(
            file.place(node), phrase("whose .{attr} this is, is not known", attr=node.attr)
        )
    return values


def _subscript(node: ast.Subscript, file: FileModel, model: Engine) -> Values:
    values = model.values(node.value, file)
    if isinstance(node.slice, ast.Slice):
        # A part of a list or tensor is one again.
        return values.each(lambda value: value if value.kind is not Kind.LOADER else UNKNOWN)
    return model.items(values, key_of(node.slice, file, model), file)


def _operation(node: ast.BinOp, file: FileModel, model: Engine) -> Values:
    # A long row of operators leans to the left; it is followed in a loop.
    right: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):
        right.append(left.right)
        left = left.left
    values = model.values(left, file)
    for operand in reversed(right):
        values = combined(values, model.values(operand, file))
    return _of_device(formatted(node), file, model) or values


def _of_device(node: ast.expr | None, file: FileModel, model: Engine) -> Values:
    """What ``"%s" % x.device`` says, where it is a device; nothing else."""
    said = model.values(node, file) if node is not None else NOTHING
    # A text of the program's own goes its own way: where it is used decides what becomes of it.
    is_own = any(value.kind is Kind.DEVICE_STRING and value.name for value in said)
    return said.each(as_text) if said.only(Kind.DEVICE, Kind.DEVICE_STRING) and not is_own else NOTHING


def _call(node: ast.Call, file: FileModel, model: Engine) -> Values:
    return _of_device(formatted(node), file, model) or values_of_call(node, file, model)


def _comparison(node: ast.Compare, file: FileModel, model: Engine) -> Values:
    if any(isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for operator in node.ops):
        return one(Value(Kind.NUMBER))

    def compared(value: Value) -> Value:
        return value if value.kind in (Kind.TENSOR, Kind.UNKNOWN, Kind.BATCH) else Value(Kind.NUMBER)

    values = model.values(node.left, file).each(compared)
    for side in node.comparators:
        values = combined(values, model.values(side, file).each(compared))
    return values


def _unary(node: ast.UnaryOp, file: FileModel, model: Engine) -> Values:
    return one(Value(Kind.NUMBER)) if isinstance(node.op, ast.Not) else model.values(node.operand, file)


def _any_of(node: ast.BoolOp, file: FileModel, model: Engine) -> Values:
    return union(model.values(value, file) for value in node.values)


def _either(node: ast.IfExp, file: FileModel, model: Engine) -> Values:
    return model.values(node.body, file) | model.values(node.orelse, file)


def _inner(node: Any, file: FileModel, model: Engine) -> Values:
    """``await x``, ``*x`` and ``(name := x)`` are what ``x`` is."""
    return model.values(node.value, file)


def _display(node: ast.expr, file: FileModel, model: Engine) -> Values:
    place = file.place(node)
    return made(Value(Kind.CONTAINER, _DISPLAYS[type(node)], place), place, "made here")


def _lambda(node: ast.Lambda, file: FileModel, model: Engine) -> Values:
    place = file.place(node)
    return made(Value(Kind.FUNCTION, "lambda", place, place), place, "written here")


def _string(node: ast.expr, file: FileModel, model: Engine) -> Values:
    return one(Value(Kind.STRING))


def _nothing(node: ast.expr, file: FileModel, model: Engine) -> Values:
    return NOTHING


_DISPLAYS: dict[type[ast.AST], str] = {
    ast.List: "list",
    ast.Tuple: "tuple",
    ast.Set: "set",
    ast.Dict: "dict",
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.DictComp: "dict",
    ast.GeneratorExp: "generator",
}
_FORMS: dict[type[ast.AST], Callable[[Any, FileModel, Engine], Values]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _f_string,
    ast.FormattedValue: _string,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.BinOp: _operation,
    ast.Compare: _comparison,
    ast.UnaryOp: _unary,
    ast.BoolOp: _any_of,
    ast.IfExp: _either,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.NamedExpr: _inner,
    ast.Lambda: _lambda,
    ast.Slice: _nothing,
    **dict.fromkeys(_DISPLAYS, _display),
}
