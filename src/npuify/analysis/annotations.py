"""What annotations say of parameters, results and variables."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.library.lookup import kind_of_base
from npuify.analysis.values import NONE, NOTHING, UNKNOWN, Kind, Value, Values, made, one, union
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel

_NUMBERS = frozenset(("builtins.int", "builtins.float", "builtins.bool", "builtins.complex"))
_CONTAINERS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "builtins": "list dict tuple set frozenset",
        "typing": "List Dict Tuple Set FrozenSet Sequence Mapping Iterable Iterator Generator",
        "collections.abc": "Sequence Mapping Iterable Iterator Generator",
    }.items()
    for name in names.split()
)
_PASSING = frozenset(("typing.Optional", "typing.Union", "typing.Final", "typing.Annotated", "typing.ClassVar"))
_TORCH = {
    "torch.device": Kind.DEVICE,
    "torch.Tensor": Kind.TENSOR,
    "torch.cuda.Stream": Kind.STREAM,
    "torch.cuda.Event": Kind.EVENT,
    "torch.optim.lr_scheduler.LRScheduler": Kind.SCHEDULER,
    "torch.optim.lr_scheduler._LRScheduler": Kind.SCHEDULER,
}


def refined(values: Values, annotation: ast.expr | None, file: FileModel, model: Engine) -> Values:
    """Values with what an annotation says in place of what is not known."""
    if annotation is None or UNKNOWN not in values:
        return values
    said = values_of_annotation(annotation, file, model)
    return (values.without(UNKNOWN) | said) if said else values


def values_of_annotation(annotation: ast.expr, file: FileModel, model: Engine) -> Values:
    """What an annotation says; nothing where it says nothing that is known here."""
    said = _said(annotation, file, model)
    if not said or UNKNOWN in said:
        return NOTHING
    return said.through(file.place(annotation), phrase("annotated as {annotation}", annotation=file.code(annotation)))


def _said(node: ast.expr, file: FileModel, model: Engine) -> Values:
    if isinstance(node, ast.Constant):
        if node.value is None:
            return one(NONE)
        return _in_quotes(node, file, model) if isinstance(node.value, str) else NOTHING
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _any_of([node.left, node.right], file, model)
    if isinstance(node, ast.Subscript):
        names = {value.name for value in model.values(node.value, file)}
        if not names.isdisjoint(_PASSING):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if "typing.Annotated" in names:
                parts = parts[:1]
            said = _any_of(parts, file, model)
            return said | one(NONE) if said and "typing.Optional" in names else said
        if not names.isdisjoint(_CONTAINERS):
            return one(Value(Kind.CONTAINER))
        return NOTHING
    return union(_of_type(value, file, model) for value in model.values(node, file))


def _any_of(parts: list[ast.expr], file: FileModel, model: Engine) -> Values:
    """What a union says: all that its parts do, if each says something."""
    said = [_said(part, file, model) for part in parts]
    return union(said) if all(said) else NOTHING


def _in_quotes(node: ast.Constant, file: FileModel, model: Engine) -> Values:
    """An annotation in quotes: a dotted name, followed from the module."""
    try:
        inner = ast.parse(str(node.value).strip(), mode="eval").body
    except SyntaxError:
        return NOTHING
    parts: list[str] = []
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return NOTHING
    if inner.id in ("Tensor",) and file.scope(node).lookup(inner.id) is None:
        return one(Value(Kind.TENSOR))
    found = file.scope(node).lookup(inner.id)
    owner = found[0] if found is not None else file.source.scope
    values = model.name(inner.id, owner, file)
    for name in reversed(parts):
        values = model.attribute(values, name, file)
    return union(_of_type(value, file, model) for value in values)


def _of_type(value: Value, file: FileModel, model: Engine) -> Values:
    """What an object is whose type is said to be ``value``."""
    if value.kind is Kind.CLASS:
        return one(model.instance(value, file))
    name = value.name
    if value.kind is Kind.NONE:
        return one(NONE)
    if value.kind is Kind.TORCH_NAME:
        kind = _TORCH.get(name) or kind_of_base(name)
        if kind is None or kind is Kind.INSTANCE:
            return NOTHING
        return one(Value(kind) if kind is Kind.TENSOR else Value(kind, name))
    if name in _NUMBERS:
        return one(Value(Kind.NUMBER))
    if name == "builtins.str":
        return one(Value(Kind.STRING))
    if name in _CONTAINERS:
        return one(Value(Kind.CONTAINER))
    if value.kind is Kind.LIBRARY_NAME and not name.startswith(("typing.", "builtins.", "collections.")):
        kind = kind_of_base(name)
        return (
            one(Value(kind, name))
            if kind not in (None, Kind.INSTANCE)
            else made(
                Value(Kind.LIBRARY_OBJECT, name), file.place(file.source.tree), phrase("an object of {name}", name=name)
            )
        )
    return NOTHING
