"""Who calls a function, and with what: call sites, and what parameters get from them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.annotations import values_of_annotation
from npuify.analysis.arguments import Missing, argument_for, parameters_of
from npuify.analysis.classes import decorators, derived, instance
from npuify.analysis.engine import Reach
from npuify.analysis.files import DEFINITIONS
from npuify.analysis.flow.flows import callees, flow_of
from npuify.analysis.library.table import HANDED_OVER
from npuify.analysis.values import NOTHING, UNKNOWN, Kind, Value, made, one, union, unknown
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel, Function
    from npuify.analysis.values import Place, Values
    from npuify.source.python.scopes import Scope

_BY_PYTHON = {"__init__", "__call__", "forward", "__enter__", "__iter__", "__getitem__", "__len__", "__new__"}
"""Methods that are not called by their names."""


# --- parameters ---


def values_of_parameter(arg: ast.arg, default: ast.expr | None, scope: Scope, file: FileModel, model: Engine) -> Values:
    """What a parameter gets: the object for ``self``, what calls pass, and what its annotation says of the rest."""
    function = scope.node
    place = file.place(arg)
    if not isinstance(function, (*DEFINITIONS, ast.Lambda)):
        return unknown(place, phrase("parameter {name}", name=arg.arg))
    own = _own_object(arg, function, file, model)
    if own:
        return own
    passed = _passed(arg, default, function, file, model)
    if arg.annotation is not None and UNKNOWN in passed:
        said = values_of_annotation(arg.annotation, file, model)
        if said:
            passed = passed.without(UNKNOWN) | said
    return passed


def _own_object(arg: ast.arg, function: Function, file: FileModel, model: Engine) -> Values:
    """What ``self`` and ``cls`` are."""
    file.see(function)
    holder = file.holder(function)
    first = parameters_of(function)[:1]
    if holder is None or first != [arg] or isinstance(function, ast.Lambda):
        return NOTHING
    words = set(decorators(function))
    if "staticmethod" in words:
        return NOTHING
    place = file.place(holder)
    name = f"{file.source.module}.{holder.name}".strip(".")
    owner = Value(Kind.CLASS, name, place, place)
    if "classmethod" in words or function.name in ("__new__", "__init_subclass__", "__class_getitem__"):
        return made(owner, place, f"class {holder.name}") | derived(file, holder, model)
    values = made(instance(owner, file, model), place, phrase("an object of class {name}", name=holder.name))
    heirs = derived(file, holder, model).where(lambda value: not _overrides(value, function.name, file, model))
    return values | heirs.each(lambda value: instance(value, file, model))


def _overrides(value: Value, name: str, file: FileModel, model: Engine) -> bool:
    """Whether a derived class has a method of that name itself, without calling that of its base."""
    home = model.definition(value, file)
    if home is None or not isinstance(home[1], ast.ClassDef):
        return False
    method = next((item for item in home[0].methods(home[1]) if item.name == name), None)
    return method is not None and not any(
        isinstance(node, ast.Name) and node.id == "super" for node in ast.walk(method)
    )


def _passed(arg: ast.arg, default: ast.expr | None, function: Function, file: FileModel, model: Engine) -> Values:
    name = getattr(function, "name", "lambda")
    taken = model.values(default, file) if default is not None else NOTHING
    called = _called_on_elements(arg, function, file, model) if isinstance(function, ast.Lambda) else NOTHING
    if called:
        return called
    if model.reach is not Reach.PROGRAM:
        return unknown(file.place(arg), phrase("parameter {arg} of {name}()", arg=arg.arg, name=name)) | taken
    sites = callers(function, file, model)
    found = []
    for site in sites:
        if site.kind is Kind.CALL_SITE:
            found.append(_given_at(site, arg, function, taken, file, model))
    if UNKNOWN in sites or not found:
        why = "whose calls are not all known" if found else "which nothing is known to call"
        found.append(
            unknown(file.place(arg), phrase("parameter {arg} of {name}(), {why}", arg=arg.arg, name=name, why=why))
        )
        found.append(taken)
    return union(found)


_ON_ELEMENTS = frozenset(("filter", "map"))
"""Builtins that call their first argument on each element of the others."""
_BY_KEY = frozenset(("max", "min", "sorted"))
"""Builtins that call their ``key`` on each element."""


def _called_on_elements(arg: ast.arg, function: ast.Lambda, file: FileModel, model: Engine) -> Values:
    """What a lambda gets that is written where Python calls it: ``filter(lambda kind: …, ["cpu", "cuda"])``."""
    parent = file.parent(function)
    call = file.parent(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or arg not in function.args.args:
        return NOTHING
    at = function.args.args.index(arg)
    if isinstance(parent, ast.keyword):
        lists = call.args if parent.arg == "key" and call.func.id in _BY_KEY and len(call.args) == 1 else []
    else:
        lists = call.args[1:] if call.func.id in _ON_ELEMENTS and call.args[0] is function else []
    if at >= len(lists) or any(isinstance(one_, ast.Starred) for one_ in call.args):
        return NOTHING
    if not any(value.name == f"builtins.{call.func.id}" for value in model.values(call.func, file)):
        return NOTHING
    values = model.elements(model.values(lists[at], file), file)
    return values.through(file.place(arg), phrase("an element of {text}", text=file.code(lists[at])))


def _given_at(site: Value, arg: ast.arg, function: Function, default: Values, file: FileModel, model: Engine) -> Values:
    home = model.node(site.place, file)
    other, call = home if home is not None else (file, None)
    if not isinstance(call, ast.Call):
        return one(UNKNOWN)
    name = getattr(function, "name", "lambda")
    args, keywords, filled = arguments_at(site, call)
    given = argument_for(arg.arg, function, args, keywords, filled)
    where = f"{other.relative}:{call.lineno}"
    if isinstance(given, ast.expr):
        text = phrase("parameter {arg} of {name}(), called at {where}", arg=arg.arg, name=name, where=where)
        return model.values(given, other).through(file.place(arg), text)
    if given is Missing.NOT_PASSED and not site.name.startswith("handed"):
        return default or unknown(file.place(arg), phrase("{where} passes nothing for {arg}", where=where, arg=arg.arg))
    return (
        unknown(file.place(arg), phrase("what {where} passes for {arg} is not written there", where=where, arg=arg.arg))
        | default
    )


def arguments_at(site: Value, call: ast.Call) -> tuple[Sequence[ast.expr], Sequence[ast.keyword], int]:
    """The arguments that a call site passes, and how many parameters are filled before them."""
    if site.name == "plain":
        return call.args, call.keywords, 0
    if site.name == "bound":
        return call.args, call.keywords, 1
    if site.name == "partial":
        return call.args[1:], call.keywords, 0
    own = int(site.name.partition(" ")[2] or 0)
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "args"), None)
    if given is None and len(call.args) > 1:
        given = call.args[1]
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "kwargs"), None)
    if given is not None and not isinstance(given, (ast.Tuple, ast.List)):
        given = ast.Tuple([ast.Starred(given)])
    keywords = []
    if isinstance(named, ast.Dict):
        pairs = zip(named.keys, named.values, strict=True)
        keywords = [ast.keyword(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)]
    return (given.elts if isinstance(given, (ast.Tuple, ast.List)) else []), keywords, own


# --- call sites ---


def callers(function: Function, file: FileModel, model: Engine) -> Values:
    """Where a function of the project is called, as far as the question reaches: ``CALL_SITE`` values.

    Their names say how: ``plain``, ``bound`` (to an object), ``partial``, or ``handed N`` (to a function that calls it
    with ``N`` arguments of its own before those in ``args``). ``UNKNOWN`` is among them where there may be more calls.
    """
    return model.ask(file, ("callers", function), _callers, function, file, model)


def _callers(function: Function, file: FileModel, model: Engine) -> Values:
    if isinstance(function, ast.Lambda):
        return _of_value(function, file.place(function), file, model)
    file.see(function)
    holder = file.holder(function)
    if holder is not None and function.name in _BY_PYTHON:
        return _of_objects(function, holder, file, model)
    return _by_names([(function.name, None if holder is not None else file)], function, file, model)


def _by_names(names: list[tuple[str, FileModel | None]], function: Function, file: FileModel, model: Engine) -> Values:
    """The calls of a function to which the mentions of names lead, and those of names that they are imported by.

    Args:
        names: each with the file that binds it at its top; None for one that is an attribute of something.
        function: the function.
        file: where it stands.
        model: whom to ask.
    """
    found = []
    words = {name for name, _ in names}
    for word, home in names:
        others = model.files_with(word) if home is None else model.files_mentioning(word, home.relative)
        for other in _with_own(file, others):
            for node in other.references(word):
                if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                    found.append(_calls_at(node, function, file, other, model))
                elif isinstance(node, ast.alias) and node.asname and node.asname not in words:
                    words.add(node.asname)
                    names.append((node.asname, None))
    return union(found)


def _of_objects(
    function: ast.FunctionDef | ast.AsyncFunctionDef, holder: ast.ClassDef, file: FileModel, model: Engine
) -> Values:
    """The calls of a method that Python calls: where objects of its class are made or used, and those by its name."""
    heirs = list(derived(file, holder, model))
    defined = [home for home in (model.definition(value, file) for value in heirs) if home is not None]
    classes = dict.fromkeys([(holder, file), *((node, home) for home, node in defined)])
    named = [(one_.name, home) for one_, home in classes if isinstance(one_, ast.ClassDef)]
    found = [_by_names([*named], function, file, model)]
    for other in _with_own(file, [home for home, _ in defined]):
        for node in (*other.references(function.name), *other.references("self")):
            parent = other.parent(node)
            if isinstance(node, ast.Attribute) and isinstance(parent, ast.Call) and parent.func is node:
                found.append(_calls_at(node, function, file, other, model))  # super().__init__(…)
            elif isinstance(node, ast.Name) and isinstance(parent, ast.Call) and parent.func is node:
                found.append(_called_by(node, other, 0, file.place(function), model))  # self(…)
    return union(found)


def _with_own(file: FileModel, others: list[FileModel]) -> list[FileModel]:
    # The project may hold this file with the text of before: what was asked about stands in the one that asks.
    files = {file.relative: file, **{other.relative: other for other in others}}
    return list((files | {file.relative: file}).values())


def _calls_at(node: ast.expr, function: Function, home: FileModel, file: FileModel, model: Engine) -> Values:
    """The calls of a function to which one mention of it, or of its class, leads."""
    own = home.place(function)
    parent = file.parent(node)
    if isinstance(parent, ast.ClassDef) or (isinstance(parent, DEFINITIONS) and node is parent.returns):
        return NOTHING
    if isinstance(parent, (ast.arg, ast.AnnAssign)) and getattr(parent, "annotation", None) is node:
        return NOTHING
    for value in model.values(node, file):
        if value.kind is Kind.FUNCTION and value.definition == own:
            break
        if value.kind is Kind.CLASS and _makes(value, function, own, file, model):
            break
    else:
        return NOTHING
    is_of_objects = _is_of_objects(function) and value.kind is Kind.CLASS
    if isinstance(parent, ast.Call) and parent.func is node and not is_of_objects:
        how = "bound" if value.of is not None or value.kind is Kind.CLASS else "plain"
        return made(Value(Kind.CALL_SITE, how, file.place(parent)), file.place(parent), "called here")
    return _of_value(node, own, file, model)


def _is_of_objects(function: Function) -> bool:
    name = getattr(function, "name", "")
    return name in _BY_PYTHON and name not in ("__init__", "__new__")


def _makes(value: Value, function: Function, own: Place, file: FileModel, model: Engine) -> bool:
    """Whether the objects of a class have the function as their method of that name."""
    name = getattr(function, "name", "")
    if name not in _BY_PYTHON:
        return False
    found = model.attribute(one(model.instance(value, file)), name, file)
    return any(method.definition == own for method in found)


def _of_value(node: ast.expr, own: Place, file: FileModel, model: Engine) -> Values:
    """The calls of a function to which its value goes from an expression, or an object whose method it is."""
    start: ast.expr = node
    parent = file.parent(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        start = parent  # an object of the class is made here
    flow = flow_of(start, file, model)
    found = [] if flow.is_whole else [one(UNKNOWN)]
    for here in flow.occurrences:
        found.append(_called_by(here.node, here.file, here.depth, own, model, is_object=start is not node))
    return union(found)


def _called_by(
    node: ast.expr, file: FileModel, depth: int, own: Place, model: Engine, *, is_object: bool = True
) -> Values:
    """The call that an expression leads to which has the function, or an object whose method it is."""
    parent = file.parent(node)
    if isinstance(parent, ast.Call) and parent.func is node and not depth:
        for callee, home, taken in callees(parent, file, model):
            if home.place(callee) == own:
                place = file.place(parent)
                how = "bound" if taken else "plain"
                return made(Value(Kind.CALL_SITE, how, place), place, "called here")
        return NOTHING
    if is_object or depth:
        return NOTHING
    if isinstance(parent, DEFINITIONS) and node in parent.decorator_list:
        return unknown(file.place(node), "it is a decorator")
    call = file.parent(parent) if isinstance(parent, ast.keyword) else parent
    return _handed_over(node, call, file, model) if isinstance(call, ast.Call) else NOTHING


def _handed_over(node: ast.expr, call: ast.Call, file: FileModel, model: Engine) -> Values:
    """Whether a call hands a function to one outside of the project that calls it."""
    place = file.place(call)
    for callee in model.values(call.func, file):
        if callee.kind in (Kind.FUNCTION, Kind.CLASS, Kind.CONTAINER):
            continue
        handed = HANDED_OVER.get(callee.name)
        if handed is not None:
            return made(Value(Kind.CALL_SITE, f"handed {handed[2]}", place), place, "handed over here")
        if callee.name == "functools.partial" and call.args[:1] == [node]:
            rest = made(Value(Kind.CALL_SITE, "partial", place), place, "some arguments are given here")
            return rest | unknown(place, "the other arguments are given elsewhere")
        if _last_part(callee.name) not in _HARMLESS:
            return unknown(place, phrase("{func}() gets the function, and may call it", func=file.code(call.func)))
    return NOTHING


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


_HARMLESS = frozenset(
    ("append", "add", "insert", "print", "callable", "isinstance", "hasattr", "id", "repr", "str", "update")
)
