"""Classes of the project: what they derive from, what sort of objects they make, and what their attributes are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.bindings import defined, imported, of_module
from npuify.analysis.engine import Reach
from npuify.analysis.files import DEFINITIONS
from npuify.analysis.library.lookup import attribute_of, kind_of_base, named
from npuify.analysis.stores import stored_on
from npuify.analysis.values import NOTHING, OBJECTS, STRINGS, UNKNOWN, Kind, Value, made, one, union, unknown
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.values import Values

Class = tuple["FileModel", ast.ClassDef]
_MOST_BASES = 12
_PROPERTIES = frozenset(("property", "cached_property", "functools.cached_property", "abc.abstractproperty"))
_STRINGS = frozenset(("__name__", "__doc__", "__module__", "__qualname__"))


# --- attributes of anything ---


def attribute(values: Values, name: str, file: FileModel, model: Engine) -> Values:
    """An attribute of values."""
    return values.each(lambda value: _attribute(value, name, file, model))


def _attribute(value: Value, name: str, file: FileModel, model: Engine) -> Values | Value:
    kind = value.kind
    if kind in (Kind.UNKNOWN, Kind.BATCH):
        if kind is Kind.BATCH and (found := attribute_of(value, name)) is not None:
            return found
        return value
    if kind in (Kind.TORCH_MODULE, Kind.TORCH_NAME, Kind.LIBRARY_NAME):
        return UNKNOWN if value.of is not None else named(f"{value.name}.{name}")
    if kind is Kind.MODULE:
        return of_module(value, name, file, model)
    if kind is Kind.PROJECT_NAME:
        return imported(f"{value.name}.{name}", file, model)
    if kind is Kind.CLASS or (kind in OBJECTS and value.definition is not None):
        return _of_class(value, name, file, model)
    if kind is Kind.FUNCTION:
        return _of_function(value, name, file, model)
    if kind is Kind.NONE:
        return NOTHING  # a placeholder has none; what the name holds later has
    if name == "value" and (kind is Kind.NUMBER or kind in STRINGS):
        return value  # a member of an enumeration is taken for its value, which has none itself
    found = attribute_of(value, name)
    return found if found is not None else UNKNOWN


def _of_function(value: Value, name: str, file: FileModel, model: Engine) -> Values | Value:
    if name in _STRINGS:
        return Value(Kind.STRING)
    home = model.definition(value, file)
    stored = stored_on(value, name, home[0], model) if home is not None else NOTHING
    return stored or UNKNOWN


# --- attributes of classes and their objects ---


def _of_class(value: Value, name: str, file: FileModel, model: Engine) -> Values | Value:
    home = model.definition(value, file)
    if home is None or not isinstance(home[1], ast.ClassDef):
        return UNKNOWN
    if name in _STRINGS:
        return Value(Kind.STRING)
    if name == "__class__":
        return Value(Kind.CLASS, value.name, value.definition, value.definition)
    found = model.ask(home[0], ("attribute", value, name), _member, value, name, home, model)
    if found:
        return found
    own = attribute_of(value, name) if value.kind is not Kind.CLASS else None
    if own is not None:
        return own
    if model.is_open(home[0], ("attribute", value, name)):
        return NOTHING  # ``self.x = self.x.cpu()``: what sets it is not found yet
    return unknown(
        home[0].place(home[1]), phrase("nothing is known to set .{name} of {name2}", name=name, name2=home[1].name)
    )


def _member(value: Value, name: str, home: Class, model: Engine) -> Values:
    found, body = [], NOTHING
    for file, node in lineage(home, model):
        place = file.place(node)
        owner = Value(Kind.CLASS, "", place, place)
        found.append(stored_on(owner, name, file, model))
        if not body:
            body = _in_body(value, name, file, node, model)
    return union([*found, body])


def _in_body(value: Value, name: str, file: FileModel, node: ast.ClassDef, model: Engine) -> Values:
    """What the statements of a class bind, methods bound to the object."""
    if file.source.has_method(node, name):
        file.source.methods_revealed(node)
    # The scope may have been asked for its names before a method was parsed that was passed over at first.
    methods = [item for item in node.body if isinstance(item, DEFINITIONS) and item.name == name]
    if not methods:
        file.see(node)
        scope = file.source.inner_scope(node)
        methods = [item.node for item in scope.names.get(name, ()) if isinstance(item.node, DEFINITIONS)]
        if not methods:
            return model.name(name, scope, file) if name in scope.names else NOTHING
    return union(_bound_method(method, value, file, model) for method in methods)


def _bound_method(
    method: ast.FunctionDef | ast.AsyncFunctionDef, value: Value, file: FileModel, model: Engine
) -> Values:
    function = defined(method, file)
    words = set(decorators(method))
    if not words.isdisjoint(_PROPERTIES) or any(word.endswith((".setter", ".getter")) for word in words):
        if value.kind is Kind.CLASS:
            return one(UNKNOWN)
        return function.each(lambda one_: model.called(one_._replace(of=value), file))
    if "staticmethod" in words:
        return function
    if "classmethod" in words:
        owner = Value(Kind.CLASS, value.name, value.definition, value.definition)
        return function.each(lambda one_: one_._replace(of=owner))
    return function if value.kind is Kind.CLASS else function.each(lambda one_: one_._replace(of=value))


def decorators(function: ast.AST) -> Iterator[str]:
    """What stands behind the ``@`` of a function's decorators, without their arguments."""
    for item in getattr(function, "decorator_list", ()):
        node = item.func if isinstance(item, ast.Call) else item
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        yield ".".join([getattr(node, "id", ""), *reversed(parts)])


# --- what classes are ---


def lineage(home: Class, model: Engine) -> list[Class]:
    """A class, and those of the project that it derives from, in the order in which attributes are looked up."""
    found: list[Class] = []
    pending = [home]
    while pending and len(found) < _MOST_BASES:
        file, node = pending.pop(0)
        if any(node is other for _, other in found):
            continue
        found.append((file, node))
        pending[:0] = list(bases(file, node, model))
    return found


def bases(file: FileModel, node: ast.ClassDef, model: Engine) -> Iterator[Class]:
    """The bases of a class that the project defines."""
    for base in node.bases:
        for value in model.values(base, file):
            home = model.definition(value, file) if value.kind is Kind.CLASS else None
            if home is not None and isinstance(home[1], ast.ClassDef) and home[1] is not node:
                yield home[0], home[1]


def kind_of_class(file: FileModel, node: ast.ClassDef, model: Engine) -> Kind:
    """What sort of objects a class makes."""
    found = model.ask(file, ("kind", node), _kind, node, file, model)
    kinds = [value.kind for value in found if value.kind is not Kind.INSTANCE]
    known = [kind for kind in kinds if kind is not Kind.HEIR]
    return known[0] if known else kinds[0] if kinds else Kind.INSTANCE


def _kind(node: ast.ClassDef, file: FileModel, model: Engine) -> Values:
    found = []
    for base in node.bases:
        for value in model.values(base, file):
            home = model.definition(value, file) if value.kind is Kind.CLASS else None
            if home is not None and isinstance(home[1], ast.ClassDef):
                found.append(model.ask(home[0], ("kind", home[1]), _kind, home[1], home[0], model))
            elif value.kind in (Kind.TORCH_NAME, Kind.LIBRARY_NAME):
                found.append(one(Value(kind_of_base(value.name) or Kind.HEIR)))
            elif value.kind is not Kind.NONE:
                found.append(one(Value(Kind.HEIR)))
    return union(found) or one(Value(Kind.INSTANCE))


def instance(value: Value, file: FileModel, model: Engine) -> Value:
    """Some object of a class of the project."""
    home = model.definition(value, file)
    if home is None or not isinstance(home[1], ast.ClassDef):
        return Value(Kind.HEIR, value.name)
    kind = kind_of_class(home[0], home[1], model)
    return Value(kind, value.name, value.definition, value.definition)


def constructed(callee: Value, node: ast.expr, file: FileModel, model: Engine) -> Values:
    """The object that a call of a class makes: of a model and its like one for each call, else one for the class."""
    found = instance(callee, file, model)
    place = file.place(node)
    if found.kind not in (Kind.INSTANCE, Kind.HEIR):
        found = found._replace(place=place)
    return made(found, place, phrase("made by {rpartition}(…)", rpartition=callee.name.rpartition(".")[2]))


def derived(file: FileModel, node: ast.ClassDef, model: Engine) -> Values:
    """The classes of the project that derive from a class, directly or not; only where a question reaches that far."""
    if model.reach is not Reach.PROGRAM:
        return NOTHING
    return model.ask(file, ("derived", node), _derived, node, file, model)


def _derived(node: ast.ClassDef, file: FileModel, model: Engine) -> Values:
    own, found = file.place(node), NOTHING
    for other in model.files_deriving(node.name):
        for name in other.references(node.name):
            holder = other.parent(name)
            if not isinstance(holder, ast.ClassDef) or name not in holder.bases or not isinstance(name, ast.expr):
                continue
            if any(value.definition == own for value in model.values(name, other)):
                found |= defined(holder, other)
                found |= model.ask(other, ("derived", holder), _derived, holder, other, model)
    return found


def method(value: Value, name: str, file: FileModel, model: Engine) -> Value | None:
    """A method of a class or of its objects, inherited ones too; the first, where there are several."""
    values = model.attribute(one(value), name, file)
    return next((one_ for one_ in values if one_.kind is Kind.FUNCTION), None)
