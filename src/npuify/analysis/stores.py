"""What is stored in the attributes of objects, classes, functions and modules: who assigns what to ``x.name``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.operators import combined
from npuify.analysis.targets import bound_to
from npuify.analysis.values import NOTHING, OBJECTS, Kind, Value, union
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.targets import Bound
    from npuify.analysis.values import Place, Values

_REGISTERING = frozenset(("register_buffer", "register_parameter", "register_module", "add_module"))


def stored_in(file: FileModel, name: str, model: Engine) -> Values:
    """What other files assign to a name of a module of the project: ``module.name = …``."""
    if model.reach is not Reach.PROGRAM:
        return NOTHING
    place = file.place(file.source.tree)

    def is_it(value: Value) -> bool:
        return value.kind is Kind.MODULE and value.place == place

    return model.ask(file, ("stored", name), _stored, is_it, name, None, file, model)


def stored_on(owner: Value, name: str, file: FileModel, model: Engine) -> Values:
    """What is assigned to an attribute of a function, as a name of the project or as an object of one of its classes.

    Args:
        owner: the function or class; of a class, what is assigned to its objects counts, too.
        file: the file that defines it.
    """
    definition = owner.definition
    if definition is None:
        return NOTHING

    def is_it(value: Value) -> bool:
        return value.definition == definition and (value.kind in OBJECTS or value.kind in (owner.kind, Kind.CLASS))

    return model.ask(file, ("stored", definition, name), _stored, is_it, name, definition, file, model)


def assignments(owner: Value, name: str, file: FileModel, model: Engine) -> Iterator[tuple[FileModel, ast.Attribute]]:
    """The targets of assignments to an attribute of a function, a class or its objects; arguments as above."""
    definition = owner.definition
    for other in _files(name, file, model):
        for target, receiver in _assigned(name, other):
            if isinstance(target, ast.Attribute) and definition is not None:
                if _is_of(receiver, lambda value: value.definition == definition, definition, other, model):
                    yield other, target


def _files(name: str, file: FileModel, model: Engine) -> Iterable[FileModel]:
    """The files that may assign to an attribute."""
    others = {other.relative: other for other in model.files_storing(name)}
    # The project may hold this file with the text of before.
    return ({file.relative: file, **others} | {file.relative: file}).values()


def _stored(is_it: Callable[[Value], bool], name: str, holder: Place | None, file: FileModel, model: Engine) -> Values:
    found: list[Values] = []
    added: list[Values] = []
    for other in _files(name, file, model):
        for target, receiver in _assigned(name, other):
            if _is_of(receiver, is_it, holder, other, model):
                bound = bound_to(target, other) if isinstance(target, ast.Attribute) else None
                values = _values_of(target, bound, name, other, model)
                (added if bound is not None and bound.how == "added" else found).append(values)
    values = union(found)
    for right in added:
        values |= combined(values, right)
    return values


def _values_of(target: ast.AST, bound: Bound | None, name: str, file: FileModel, model: Engine) -> Values:
    if bound is None:
        assert isinstance(target, ast.expr)
        return model.values(target, file).through(
            file.place(target), phrase(".{name} is set to {target}", name=name, target=file.code(target))
        )
    if bound.how == "added" and bound.source is not None:
        return model.values(bound.source, file)
    said = file.code(bound.source) if bound.source is not None else "what is bound here"
    return model.bound(bound, file).through(
        file.place(target), phrase(".{name} is assigned {said}", name=name, said=said)
    )


def _assigned(name: str, file: FileModel) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The places of a file that assign to an attribute: the target, or what ``setattr`` sets it to; and whose it is."""
    for node in file.references(name):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node, node.value
        elif isinstance(node, ast.Constant):
            call = file.parent(node)
            if not isinstance(call, ast.Call):
                continue
            function = call.func
            if isinstance(function, ast.Name) and function.id == "setattr" and call.args[1:2] == [node]:
                if len(call.args) == 3:
                    yield call.args[2], call.args[0]
            elif isinstance(function, ast.Attribute) and function.attr in _REGISTERING and call.args[:1] == [node]:
                if len(call.args) > 1:
                    yield call.args[1], function.value


def _is_of(
    receiver: ast.expr, is_it: Callable[[Value], bool], holder: Place | None, file: FileModel, model: Engine
) -> bool:
    """Whether an expression may be the object whose attribute is asked for."""
    if isinstance(receiver, ast.Name):
        # What methods call ``self`` need not be worked out.
        own = own_class(receiver, file)
        if own is not None:
            return holder is not None and file.place(own) == holder
    return any(is_it(value) for value in model.values(receiver, file))


def own_class(name: ast.Name, file: FileModel) -> ast.ClassDef | None:
    """The class of which a name is the object, as the first parameter of a method; None for any other name."""
    found = file.scope(name).lookup(name.id)
    if found is None or len(found[1]) != 1 or found[1][0].kind != "parameter":
        return None
    function = found[0].node
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    first = [*function.args.posonlyargs, *function.args.args][:1]
    static = any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in function.decorator_list)
    if static or not first or first[0].arg != name.id:
        return None
    return file.holder(function)
