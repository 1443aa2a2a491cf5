"""What calls give: of functions, classes and objects of the project, and of what packages have."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.annotations import refined
from npuify.analysis.classes import constructed, decorators, kind_of_class
from npuify.analysis.files import DEFINITIONS, FUNCTIONS, inside
from npuify.analysis.library.lookup import kind_of_base, named, result_of, result_of_method
from npuify.analysis.library.table import GENERIC_PASSING, Gives
from npuify.analysis.library.tensor_methods import TENSORS_ALONE
from npuify.analysis.values import (
    MODELS,
    NONE,
    NOTHING,
    OBJECTS,
    STRINGS,
    UNKNOWN,
    Kind,
    Value,
    made,
    made_of,
    one,
    union,
    unknown,
)
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel, Function
    from npuify.analysis.values import Values

_PLAIN = frozenset((Kind.TENSOR, Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.DEVICE_STRING, Kind.BACKEND_STRING))
"""Kinds of which one object is as good as another."""
_CONTEXT_MANAGERS = frozenset(("contextmanager", "contextlib.contextmanager", "asynccontextmanager"))


def values_of_call(node: ast.Call, file: FileModel, model: Engine) -> Values:
    """What a call gives."""
    callees = model.values(node.func, file)
    place = file.place(node)
    word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")

    def given(callee: Value) -> Values | Value:
        if callee.kind in (Kind.UNKNOWN, Kind.BATCH):
            if isinstance(node.func, ast.Attribute) and word in TENSORS_ALONE and _is_open(node.func, file, model):
                return made(Value(Kind.TENSOR), place, phrase("only tensors have .{word}()", word=word))
            if isinstance(node.func, ast.Name) and word in GENERIC_PASSING:
                return one(Value(Kind.CONTAINER, word, place))
            return UNKNOWN
        if callee.kind in (Kind.TORCH_NAME, Kind.LIBRARY_NAME):
            return _of_library(callee, callees.only_this(callee), node, file, model)
        if callee.kind is Kind.CLASS:
            return constructed(callee, node, file, model) if callee.definition is not None else _by_name(callee)
        values = called(callee, file, model, node)
        if UNKNOWN in values and not values.why(UNKNOWN):
            why = phrase("what {func}() gives is not known", func=file.code(node.func))
            return values.without(UNKNOWN) | made_of(callees.only_this(callee), UNKNOWN, place, why)
        return values

    return callees.each(given)


def _is_open(function: ast.Attribute, file: FileModel, model: Engine) -> bool:
    """Whether nothing says whose method it is."""
    return any(value.kind in (Kind.UNKNOWN, Kind.BATCH) for value in model.values(function.value, file))


def _by_name(callee: Value) -> Value:
    """An object of a class that was not looked at."""
    return Value(Kind.HEIR, callee.name)


# --- functions and objects of the project ---


def called(callee: Value, file: FileModel, model: Engine, node: ast.Call | None = None) -> Values:
    """What a function or object of the project gives when it is called."""
    if callee.kind is Kind.FUNCTION:
        home = model.definition(callee, file)
        if home is None or not isinstance(home[1], FUNCTIONS):
            return one(UNKNOWN)
        values = returned(home[1], home[0], model)
        if node is not None:
            values = _one_for_each_call(values, home[1], home[0], node, file, model)
            values = values.through(
                file.place(node), phrase("returned by {rpartition}()", rpartition=callee.name.rpartition(".")[2])
            )
        return values
    if callee.kind in OBJECTS and callee.definition is not None:
        names = ("forward", "__call__") if callee.kind in MODELS else ("__call__",)
        for name in names:
            methods = model.attribute(one(callee), name, file).where(lambda value: value.definition is not None)
            if methods:
                return methods.each(lambda method: called(method, file, model, node))
    if callee.kind in (Kind.LIBRARY_NAME, Kind.TORCH_NAME):
        result = result_of(callee.name) if callee.of is None else result_of_method(callee.of, _last(callee.name))
        if result is Gives.LIKE_FIRST or result is Gives.DERIVED:
            return one(Value(Kind.CONTAINER))
        return one(Value(result)) if isinstance(result, Kind) else one(UNKNOWN)
    if callee.kind is Kind.CLASS:
        return one(model.instance(callee, file))
    return NOTHING if callee.kind is Kind.NONE else one(UNKNOWN)


def returned(function: Function, file: FileModel, model: Engine) -> Values:
    """What a function of the project returns."""
    return model.ask(file, ("returned", function), _returned, function, file, model)


def _returned(function: Function, file: FileModel, model: Engine) -> Values:
    if isinstance(function, ast.Lambda):
        return model.values(function.body, file)
    file.look_into(function)
    place = file.place(function)
    nodes = list(inside(function))
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
        sort = "entered" if not _CONTEXT_MANAGERS.isdisjoint(decorators(function)) else "generator"
        return made(Value(Kind.CONTAINER, sort, place), place, phrase("yielded by {name}()", name=function.name))
    returns = [node for node in nodes if isinstance(node, ast.Return)]
    if not returns:
        if isinstance(function.body[-1], ast.Raise):
            return unknown(place, phrase("{name}() is defined elsewhere; here it only raises", name=function.name))
        values = one(NONE)
    else:
        values = union(
            model.values(node.value, file).through(file.place(node), phrase("returned by {name}()", name=function.name))
            if node.value is not None
            else one(NONE)
            for node in returns
        )
    return refined(values, function.returns, file, model)


def _one_for_each_call(
    values: Values, function: Function, home: FileModel, node: ast.Call, file: FileModel, model: Engine
) -> Values:
    """What a function that is called in several places makes itself is another thing for each of them."""
    if not model.tells_calls_apart or not isinstance(function, DEFINITIONS):
        return values
    own = home.place(function)

    def is_made_here(value: Value) -> bool:
        place = value.place
        return (
            value.kind in (Kind.MODEL, Kind.LOADER, Kind.DATASET, Kind.OPTIMIZER)
            and place is not None
            and place.file == own.file
            and own.line <= place.line <= own.end_line
        )

    if not any(is_made_here(value) for value in values) or len(model.callers(function, home)) < 2:
        return values
    place = file.place(node)
    return values.each(lambda value: value._replace(place=place) if is_made_here(value) else value)


def entered(values: Values, file: FileModel, model: Engine) -> Values:
    """What ``with`` gives of context managers."""

    def given(value: Value) -> Values | Value:
        if value.kind is Kind.CONTAINER and value.name == "entered":
            return model.items(one(value._replace(name="generator")), None, file)
        if value.kind in OBJECTS and value.definition is not None:
            methods = model.attribute(one(value), "__enter__", file).where(lambda one_: one_.definition is not None)
            if methods:
                return methods.each(lambda method: called(method, file, model))
        if value.kind is Kind.CONTAINER and value.name in GENERIC_PASSING:
            return value  # a progress bar
        return value if value.kind in (Kind.STREAM, Kind.TORCH_OBJECT, Kind.LIBRARY_OBJECT) else UNKNOWN

    return values.each(given)


# --- what packages have ---


def _of_library(callee: Value, source: Values, node: ast.Call, file: FileModel, model: Engine) -> Values | Value:
    name = callee.name
    if callee.of is None:
        source = NOTHING  # that a function is imported says little of what it makes
    special = _SPECIAL.get(name)
    if special is not None:
        return special(node, file, model)
    result = result_of_method(callee.of, _last(name)) if callee.of is not None else result_of(name)
    if result is None and _last(name) in GENERIC_PASSING and callee.of is None:
        result = Gives.LIKE_FIRST
    place = file.place(node)
    if result is None or result is Kind.UNKNOWN:
        return made_of(source, UNKNOWN, place, phrase("what {name}() gives is not known", name=name))
    if isinstance(result, Kind):
        value = Value(result) if result in _PLAIN else Value(result, name, place)
        return made_of(source, value, place, phrase("made by {name}()", name=name))
    return _derived(result, callee, node, file, model)


def _derived(result: Gives, callee: Value, node: ast.Call, file: FileModel, model: Engine) -> Values | Value:
    name, place = callee.name, file.place(node)
    first = model.values(node.args[0], file) if node.args else NOTHING
    if result in (Gives.FIRST, Gives.RETURNED):
        return first.through(place, phrase("handed on by {name}()", name=name)) if first else UNKNOWN
    if result is Gives.COPY:
        return first.each(lambda value: value._replace(place=place) if value.place else value)
    if result is Gives.WRAPPED:
        model_value = Value(Kind.MODEL, name, place)
        return first.each(lambda value: value if value.kind in MODELS else model_value)
    if result is Gives.SELF and callee.of is not None:
        return callee.of
    if result is Gives.PARAMETERS and callee.of is not None:
        return made(
            Value(Kind.PARAMETERS, _last(name), place, of=callee.of), place, phrase("by .{name}()", name=_last(name))
        )
    if result is Gives.TAKEN:
        rest = model.values(node.args[1], file) if len(node.args) > 1 else NOTHING
        return model.items(first, None, file) | rest
    if result is Gives.TAKEN_FROM_SELF and callee.of is not None:
        key = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        rest = model.values(node.args[1], file) if len(node.args) > 1 else NOTHING
        known = key if isinstance(key, (int, str)) and callee.of.name in ("dict", "OrderedDict") else None
        return model.items(one(callee.of), known, file) | rest
    return made(Value(Kind.CONTAINER, _last(name), place), place, phrase("made by {last}()", last=_last(name)))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


# --- Python's own ---


def _getattr(node: ast.Call, file: FileModel, model: Engine) -> Values:
    if len(node.args) < 2:
        return one(UNKNOWN)
    owner = model.values(node.args[0], file)
    rest = model.values(node.args[2], file) if len(node.args) > 2 else NOTHING
    words = model.values(node.args[1], file)
    if not words.is_known or not all(word.kind in STRINGS and word.name for word in words):
        some = [named(f"{value.name}.*") for value in owner if value.kind in (Kind.TORCH_NAME, Kind.LIBRARY_NAME)]
        return union(some) or unknown(file.place(node), "which attribute this is, is not known")
    return union(model.attribute(owner, word.name, file) for word in words) | rest


def _super(node: ast.Call, file: FileModel, model: Engine) -> Values:
    holder = file.class_around(node)
    if holder is None:
        return one(UNKNOWN)

    def as_object(value: Value) -> Value:
        if value.kind is Kind.CLASS:
            return model.instance(value, file)
        known = kind_of_base(value.name) if value.kind in (Kind.TORCH_NAME, Kind.LIBRARY_NAME) else None
        return Value(known, value.name) if known not in (None, Kind.INSTANCE) else UNKNOWN

    found = union(model.values(base, file) for base in holder.bases).each(as_object)
    return found or one(Value(kind_of_class(file, holder, model)))


def _import_module(node: ast.Call, file: FileModel, model: Engine) -> Values:
    words = model.values(node.args[0], file) if len(node.args) == 1 else NOTHING
    if words.is_known and all(word.kind in STRINGS and word.name for word in words):
        return union(model.imported(word.name, file) for word in words)
    return unknown(file.place(node), "which module this is, is not known")


def as_text(value: Value) -> Value:
    """What ``str()`` makes of a value: of a device, its name."""
    if value.kind is Kind.DEVICE:
        return Value(Kind.DEVICE_STRING)
    return value if value.kind is Kind.DEVICE_STRING else Value(Kind.STRING)


def _str(node: ast.Call, file: FileModel, model: Engine) -> Values:
    """``str(x.device)`` says a device, as its type does; a text stays what it is."""
    if len(node.args) != 1 or node.keywords:
        return made(Value(Kind.STRING), file.place(node), phrase("made by {name}()", name="str"))
    return model.values(node.args[0], file).each(as_text).through(file.place(node), "as text, by str()")


_SPECIAL = {
    **dict.fromkeys(("builtins.str", "builtins.format"), _str),
    "builtins.getattr": _getattr,
    "builtins.super": _super,
    "builtins.__import__": _import_module,
    "importlib.import_module": _import_module,
}
