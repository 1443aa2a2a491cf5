"""What a name stands for: all that its scope binds to it, in this file or in the one that it is imported from."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from npuify.analysis.annotations import refined, values_of_annotation
from npuify.analysis.engine import Reach
from npuify.analysis.library.lookup import named
from npuify.analysis.operators import combined
from npuify.analysis.targets import bound_by
from npuify.analysis.values import NONE, NOTHING, UNKNOWN, Kind, Value, made, one, union, unknown
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.targets import Bound
    from npuify.analysis.values import Values
    from npuify.source.python.scopes import Binding, Scope

_BUILTINS = frozenset(dir(builtins))


# --- names ---


def values_of_name(node: ast.Name, file: FileModel, model: Engine) -> Values:
    """What a name stands for where it is read."""
    scope = file.scope(node)
    found = scope.lookup(node.id)
    if found is None or (found[0].parent is None and node.id in scope.outward):
        owner = scope.module
    else:
        owner = found[0]
    return model.ask(file, (owner.node, node.id), values_in_scope, node.id, owner, file, model)


def values_in_scope(name: str, scope: Scope, file: FileModel, model: Engine) -> Values:
    """What a name stands for, by all its bindings in a scope."""
    bindings = file.bindings(name, scope)
    if not bindings:
        return _from_elsewhere(name, scope, file, model)
    found, added = [], []
    for binding in bindings:
        bound = bound_by(binding, file)
        if bound is not None and bound.how == "added":
            added.append(bound)
        else:
            found.append(_of_binding(name, binding, bound, scope, file, model))
    values = union(found)
    for bound in added:
        if bound.source is not None:
            right = model.values(bound.source, file)
            values |= combined(values, right)
    return values


def _of_binding(
    name: str, binding: Binding, bound: Bound | None, scope: Scope, file: FileModel, model: Engine
) -> Values:
    node = binding.node
    if bound is not None:
        return of_bound(bound, file, model).through(file.place(_shown(bound.node)), f"{name} is {_said(bound, file)}")
    if binding.kind == "import":
        place = file.place(node)
        return imported(binding.target, file, model).through(place, phrase("imported as {name}", name=name))
    if binding.kind == "parameter" and isinstance(node, ast.arg):
        return model.parameter(node, binding.value, scope, file)
    if not hasattr(node, "lineno"):
        return unknown(file.place(node), phrase("{name} could not be parsed", name=name))
    return defined(node, file)


def defined(node: ast.AST, file: FileModel) -> Values:
    """The value of a function's or class's name."""
    place = file.place(node)
    name = f"{file.source.module}.{getattr(node, 'name', '')}".strip(".")
    if isinstance(node, ast.ClassDef):
        return made(Value(Kind.CLASS, name, place, place), place, f"class {node.name}")
    holder = file.holder(node)
    if holder is not None:
        name = f"{file.source.module}.{holder.name}.{getattr(node, 'name', '')}".strip(".")
    return made(Value(Kind.FUNCTION, name, place, place), place, f"def {getattr(node, 'name', 'lambda')}()")


def of_bound(bound: Bound, file: FileModel, model: Engine) -> Values:
    """What a target gets."""
    source = bound.source
    if source is None:
        return _not_followed(bound, file)
    if bound.how == "declared":
        return values_of_annotation(source, file, model) or unknown(file.place(bound.node), "declared, not assigned")
    values = model.values(source, file)
    if bound.how == "element":
        values = model.elements(values, file)
    elif bound.how == "entered":
        values = model.entered(values, file)
    elif bound.how == "value" and isinstance(bound.node, ast.AnnAssign) and UNKNOWN in values:
        values = refined(values, bound.node.annotation, file, model)
    for key in bound.path:
        values = model.items(values, key, file)
    return values


def _not_followed(bound: Bound, file: FileModel) -> Values:
    node = bound.node
    place = file.place(node)
    if isinstance(node, ast.ExceptHandler):
        return made(Value(Kind.LIBRARY_OBJECT, "builtins.Exception"), place, "caught here")
    if isinstance(node, ast.arg):
        parent = file.parent(node)
        many = "tuple" if isinstance(parent, ast.arguments) and parent.vararg is node else "dict"
        return made(Value(Kind.CONTAINER, many, place), place, phrase("the remaining arguments, {arg}", arg=node.arg))
    return unknown(place, phrase("bound by {name}, which is not followed", name=type(node).__name__))


def _shown(node: ast.AST) -> ast.AST:
    """The node whose line shows a binding."""
    if isinstance(node, ast.withitem):
        return node.context_expr
    return node.target if isinstance(node, ast.comprehension) else node


def _said(bound: Bound, file: FileModel) -> str:
    text = file.code(bound.source) if bound.source is not None else "bound here"
    if bound.how == "element":
        return (
            phrase("an element of {text}", text=text)
            if not bound.path
            else phrase("part of an element of {text}", text=text)
        )
    if bound.how == "entered":
        return phrase("what `with {text}` gives", text=text)
    return phrase("part of {text}", text=text) if bound.path else text


# --- names of other files ---


def imported(target: str, file: FileModel, model: Engine) -> Values:
    """What an imported name stands for: a module or member of the project, or a name of a package."""
    own = target.startswith(".")
    target = target.lstrip(".")
    if not own and target.partition(".")[0] in ("torch", "builtins"):
        return named(target)
    if model.reach is Reach.FILE:
        return _by_name_alone(target, file, model)
    relative = model.file_of_module(target, file)
    if relative is not None:
        return _module(target, relative, model)
    head, _, last = target.rpartition(".")
    relative = model.file_of_module(head, file) if head else None
    other = model.file(relative) if relative is not None else None
    if other is not None:
        return members(last, other, model)
    if relative is not None:
        return unknown(file.place(file.source.tree), phrase("{relative} cannot be parsed", relative=relative))
    return one(Value(Kind.MODULE, target)) if model.is_package(target) else named(target)


def _by_name_alone(target: str, file: FileModel, model: Engine) -> Values:
    name = model.stands_for(target)
    if name.startswith("torch.") or name == "torch":
        return named(name)
    held = model.file_of_module(name, file) or model.file_of_module(name.rpartition(".")[0], file)
    if held is None and not model.is_package(name):
        return named(name)
    known = model.project.class_named(name)
    return one(Value(Kind.CLASS, known) if known is not None else Value(Kind.PROJECT_NAME, name))


def _module(name: str, relative: str, model: Engine) -> Values:
    file = model.file(relative)
    return one(Value(Kind.MODULE, name, file.place(file.source.tree) if file is not None else None))


def members(name: str, file: FileModel, model: Engine) -> Values:
    """What a module of the project gives under a name."""
    return model.ask(file, ("member", name), _members, name, file, model)


def _members(name: str, file: FileModel, model: Engine) -> Values:
    values = values_in_scope(name, file.source.scope, file, model)
    return values | model.stored_in(file, name)


def of_module(module: Value, name: str, file: FileModel, model: Engine) -> Values:
    """An attribute of a module of the project."""
    below = f"{module.name}.{name}"
    other = model.file(module.place.file, file) if module.place is not None else None
    if other is not None and (other.bindings(name, other.source.scope) or other.source.scope.star_imports):
        return members(name, other, model)
    relative = model.file_of_module(below, file)
    if relative is not None:
        return _module(below, relative, model)
    if model.is_package(below):
        return one(Value(Kind.MODULE, below))
    if other is not None:
        stored = model.stored_in(other, name)
        return stored or members(name, other, model)
    return unknown(file.place(file.source.tree), phrase("nothing in the project is called {below}", below=below))


def _from_elsewhere(name: str, scope: Scope, file: FileModel, model: Engine) -> Values:
    """A name that the file does not bind: of a star import, or a builtin."""
    module = scope.module
    _ = module.names
    for star in module.star_imports:
        values = _through_star(star, name, file, model)
        if values:
            return values
    if name in _BUILTINS:
        return one(NONE) if name == "None" else named(f"builtins.{name}")
    if name.startswith("__") and name.endswith("__"):
        return one(Value(Kind.STRING)) if name in ("__name__", "__file__", "__doc__") else one(UNKNOWN)
    if module.star_imports:
        if name == "torch":
            return named("torch")  # bound nowhere here, so it comes with one of the star imports
        return unknown(file.place(module.node), phrase("{name} may come with `import *`", name=name))
    return unknown(file.place(module.node), phrase("{name} is bound nowhere in this file", name=name))


def _through_star(star: str, name: str, file: FileModel, model: Engine) -> Values:
    if name.startswith("_"):
        return NOTHING
    if star == "torch" or star.startswith("torch."):
        star_has = file.source.star_has
        known = star_has is not None and star_has(f"{star}.{name}")
        return named(f"{star}.{name}") if known or (star_has is None and name not in _BUILTINS) else NOTHING
    relative = model.file_of_module(star, file)
    if model.reach is Reach.FILE:
        star_has = file.source.star_has
        known = star_has is not None and star_has(f"{star}.{name}")
        return _by_name_alone(f"{star}.{name}", file, model) if known else NOTHING
    other = model.file(relative) if relative is not None else None
    if other is None or other is file:
        return NOTHING
    names = other.source.scope
    if other.bindings(name, names):
        return members(name, other, model)
    _ = names.names
    if names.star_imports and name not in _BUILTINS:
        values = members(name, other, model)
        return NOTHING if values == one(UNKNOWN) else values
    return NOTHING
