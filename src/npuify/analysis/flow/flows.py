"""Where a value goes: from an expression to the names, parameters, results and containers that get it from there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.arguments import defaults_of, parameter_for
from npuify.analysis.engine import Reach
from npuify.analysis.files import DEFINITIONS, FUNCTIONS
from npuify.analysis.flow.device_names import LOOKING, OPTIONS, REGISTRIES
from npuify.analysis.flow.occurrences import Flow, Occurrence, further
from npuify.analysis.flow.readers import readers_of, readers_of_container
from npuify.analysis.library.lookup import result_of
from npuify.analysis.library.table import LAYERS, MEMBERS, Gives
from npuify.analysis.values import OBJECTS, Kind, Step, one
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel, Function
    from npuify.analysis.values import Value

_HANDED_ON = frozenset((Gives.FIRST, Gives.WRAPPED, Gives.COPY, Gives.LIKE_FIRST))
MOST = 300
"""Places that a value is followed to."""
_HANDING_ON = (ast.BoolOp, ast.Await, ast.Starred, ast.FormattedValue, ast.JoinedStr)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
_TAKING = frozenset(("get", "pop", "popleft", "setdefault", "__getitem__"))
CHANGING_TEXT = frozenset(("format", "lower", "upper", "strip", "split"))
_KEEPING = frozenset(name for name, result in MEMBERS[Kind.MODEL].items() if result is Gives.SELF)
_GOING_THROUGH = frozenset(("values", "items", "enumerate", "list", "tuple", "reversed", "sorted", "iter", "copy"))


def flow_of(node: ast.expr, file: FileModel, model: Engine, *, by_name: bool = False) -> Flow:
    """All expressions that get the value of ``node``, itself the first."""
    found = list(followed(node, file, model, by_name=by_name))
    is_whole = len(found) <= MOST and not model.is_spent
    return Flow(found, is_whole and not any(leaves(occurrence, model) for occurrence in found))


def followed(node: ast.expr, file: FileModel, model: Engine, *, by_name: bool = False) -> Iterator[Occurrence]:
    """The expressions that get the value of ``node``, itself the first, as far as somebody asks for more."""
    found = [Occurrence(node, file, Step(file.place(node), "written here"), by_name=by_name)]
    seen = {node}
    for occurrence in found:
        yield occurrence
        if len(found) <= MOST and not model.is_spent:
            for further in next_of(occurrence, model):
                if further.node not in seen and further.depth < 4:
                    seen.add(further.node)
                    found.append(further)


def leaves(here: Occurrence, model: Engine) -> bool:
    """Whether a value goes where a question does not reach: to a name that other files have, or to who calls."""
    if model.reach is Reach.PROGRAM:
        return False
    parent = here.file.parent(here.node)
    if isinstance(parent, (ast.Tuple, ast.List)):
        return isinstance(here.file.parent(parent), ast.Assign)
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return any(
            not isinstance(target, ast.Name) or isinstance(here.file.scope(target).node, (ast.Module, ast.ClassDef))
            for target in targets
        )
    return isinstance(parent, (ast.Return, ast.Yield, ast.YieldFrom, ast.Lambda))


def next_of(here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """The expressions that get a value directly from one that has it."""
    node, file = here.node, here.file
    parent = file.parent(node)
    if isinstance(parent, ast.IfExp):
        if node is not parent.test:
            yield here._replace(node=parent)
    elif isinstance(parent, _HANDING_ON):
        yield here._replace(node=parent)
    elif isinstance(parent, ast.BinOp):
        if not isinstance(parent.op, ast.Div):
            yield here._replace(node=_whole_operation(parent, file))
    elif isinstance(parent, ast.NamedExpr):
        yield here._replace(node=parent)
        yield from readers_of(parent.target, here, model)
    elif isinstance(parent, ast.Assign):
        for target in parent.targets:
            yield from readers_of(target, here, model)
    elif isinstance(parent, (ast.AnnAssign, ast.AugAssign)) and parent.value is node:
        yield from readers_of(parent.target, here, model)
    elif isinstance(parent, (ast.List, ast.Tuple, ast.Set)):
        yield from _in_display(parent, here, model)
    elif (isinstance(parent, ast.Dict) and node in parent.values) or isinstance(parent, _COMPREHENSIONS):
        yield here._replace(node=parent, depth=here.depth + 1)
    elif isinstance(parent, ast.Subscript) and node is parent.value and here.depth:
        yield here._replace(node=parent, depth=here.depth - 1)
    elif isinstance(parent, ast.Attribute):
        yield from _by_method(parent, here)
    elif isinstance(parent, ast.keyword):
        call = file.parent(parent)
        if isinstance(call, ast.Call):
            yield from _as_argument(call, here, model)
    elif isinstance(parent, ast.Call) and node is not parent.func:
        yield from _as_argument(parent, here, model)
    elif isinstance(parent, ast.Return):
        yield from _returned(parent, here, model)
    elif isinstance(parent, ast.Yield):
        yield from _returned(parent, here._replace(depth=here.depth + 1), model)
    elif isinstance(parent, ast.withitem) and here.depth and parent.optional_vars is not None:
        yield from readers_of(parent.optional_vars, here._replace(depth=here.depth - 1), model)
    elif isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and node is parent.iter and here.depth:
        yield from _in_turn(parent.target, here, model)
    elif isinstance(parent, ast.arguments):
        function = file.parent(parent)
        if isinstance(function, FUNCTIONS):
            for arg, default in defaults_of(function):
                if default is node:
                    yield from uses_of_parameter(
                        arg, function, here, file, phrase("default of {arg}", arg=arg.arg), model
                    )


def _in_turn(target: ast.expr, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """Where a loop's target is read; of ``enumerate`` and its like, any part of it may have the value."""
    element = here._replace(depth=here.depth - 1)
    if isinstance(here.node, ast.Call) and isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from readers_of(part, element, model)
    else:
        yield from readers_of(target, element, model)


def _in_display(display: ast.List | ast.Tuple | ast.Set, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    parent = here.file.parent(display)
    if isinstance(parent, ast.Assign) and isinstance(display, (ast.Tuple, ast.List)):
        place = display.elts.index(here.node)
        taken_apart = False
        for target in parent.targets:
            if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(display.elts):
                taken_apart = True
                yield from readers_of(target.elts[place], here, model)
        if taken_apart:
            return
    yield here._replace(node=display, depth=here.depth + 1)


def _by_method(attribute: ast.Attribute, here: Occurrence) -> Iterator[Occurrence]:
    if attribute.attr == "value" and not here.depth:
        yield here._replace(node=attribute)  # of a member of an enumeration: strings have none
    call = here.file.parent(attribute)
    if isinstance(call, ast.Call) and call.func is attribute:
        if not here.depth:
            if attribute.attr in CHANGING_TEXT or attribute.attr in _KEEPING:
                yield here._replace(node=call)
        elif attribute.attr in _TAKING:
            yield here._replace(node=call, depth=here.depth - 1)
        elif attribute.attr in _GOING_THROUGH:
            yield here._replace(node=call)


def _as_argument(call: ast.Call, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """What a function of the project does with what it is given."""
    file = here.file
    word = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if word in _GOING_THROUGH and here.depth:
        yield here._replace(node=call)
    if word in ("append", "add", "insert") and isinstance(call.func, ast.Attribute):
        yield from readers_of_container(call.func.value, here._replace(depth=here.depth + 1), model)
    if word == "dict":
        yield here._replace(node=call, depth=here.depth + 1)
    if word == "join" and here.depth and isinstance(call.func, ast.Attribute):
        yield here._replace(node=call, depth=here.depth - 1)
    second = word in LOOKING or (word == "setdefault" and is_environment(call.func, file))
    rest = call.args[1:2] if second else call.args[2:3] if word == "getattr" else []
    if word == "next" and here.node in call.args[:1]:
        yield here._replace(node=call, depth=max(here.depth - 1, 0))
    elif word in ("str", "next", "cast", "format") or here.node in rest:
        yield here._replace(node=call)
    if word in OPTIONS and here.by_name:
        yield from _read_as_option(call, here, model)
    yield from _through_library(call, here, model)
    for function, home, taken in callees(call, file, model):
        arg = parameter_for(here.node, call, function, taken)
        if arg is not None:
            name = getattr(function, "name", "lambda")
            yield from uses_of_parameter(
                arg, function, here, home, phrase("given to {name}() as {arg}", name=name, arg=arg.arg), model
            )


def is_environment(method: ast.expr, file: FileModel) -> bool:
    """Whether a method is one of ``os.environ``."""
    return isinstance(method, ast.Attribute) and file.source.qualname(method.value) == "os.environ"


def _through_library(call: ast.Call, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """What a package's function gives that has its first argument, or holds its arguments."""
    given = here.file.parent(here.node) if isinstance(here.file.parent(here.node), ast.Starred) else here.node
    for value in model.values(call.func, here.file):
        if value.kind not in (Kind.TORCH_NAME, Kind.LIBRARY_NAME) or value.of is not None:
            continue
        if value.name == "torch.nn.Sequential":
            yield here._replace(node=call, depth=here.depth + int(given is here.node))
        elif value.name in LAYERS or (call.args[:1] == [given] and result_of(value.name) in _HANDED_ON):
            yield here._replace(node=call)


def callees(call: ast.Call, file: FileModel, model: Engine) -> Iterator[tuple[Function, FileModel, int]]:
    """The functions of the project that a call may call, and how many parameters are filled before its arguments."""
    for value in model.values(call.func, file):
        for method in _methods(value, file, model):
            home = model.definition(method, file)
            if home is not None and isinstance(home[1], FUNCTIONS):
                yield home[1], home[0], int(method.of is not None)


def _methods(value: Value, file: FileModel, model: Engine) -> Iterator[Value]:
    if value.kind is Kind.FUNCTION:
        yield value
    elif value.kind is Kind.CLASS:
        made = model.instance(value, file)
        yield from model.attribute(one(made), "__init__", file).of_kind(Kind.FUNCTION)
    elif value.kind in OBJECTS and value.definition is not None:
        word = "forward" if value.kind in (Kind.MODEL, Kind.LOSS) else "__call__"
        yield from model.attribute(one(value), word, file).of_kind(Kind.FUNCTION)


def uses_of_parameter(
    arg: ast.arg, function: Function, here: Occurrence, home: FileModel, text: str, model: Engine
) -> Iterator[Occurrence]:
    """Where a function reads one of its parameters."""
    step = further(here, home.place(arg), text)
    for node in reads(arg, function, home):
        yield here._replace(node=node, file=home, step=step)


def reads(arg: ast.arg, function: Function, home: FileModel) -> list[ast.Name]:
    """Where a function reads one of its parameters."""
    if isinstance(function, DEFINITIONS):
        home.look_into(function)
    found = []
    for node in home.references(arg.arg):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            owner = home.scope(node).lookup(arg.arg)
            if owner is not None and owner[0].node is function:
                found.append(node)
    return found


def option_names(call: ast.Call, file: FileModel) -> list[str]:
    """The names under which a program reads an option, or a field, that a call declares."""
    words = [item.value for item in call.args if isinstance(item, ast.Constant)]
    words += [item.value.value for item in call.keywords if item.arg == "dest" and isinstance(item.value, ast.Constant)]
    names = [word.lstrip("-").replace("-", "_") for word in words if isinstance(word, str)]
    parent = file.parent(call)
    if isinstance(parent, (ast.AnnAssign, ast.Assign)):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def _read_as_option(call: ast.Call, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """Where the file reads something that is called like an option, and others an attribute of that name of who knows
    what: ``Agent(**vars(options))`` puts options into an object."""
    file = here.file
    for name in option_names(call, file):
        if len(name) < 2 or REGISTRIES.search(name):
            continue
        step = further(here, file.place(call), phrase("the option {name}", name=name))
        for node in file.references(name):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                yield here._replace(node=node, step=step, depth=0, sure=False)
        for other in model.files_with(f".{name}"):
            if other is file:
                continue
            for node in other.references(name):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _is_open(node, other, model):
                    yield here._replace(node=node, file=other, step=step, depth=0, sure=False)


def _is_open(node: ast.expr, file: FileModel, model: Engine) -> bool:
    """Whether nothing of the project is known to be read here."""
    values = model.values(node, file)
    return not values or any(value.kind is Kind.UNKNOWN for value in values)


def _returned(node: ast.Return | ast.Yield, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    function = here.file.frame(node)
    if not isinstance(function, DEFINITIONS):
        return
    step = further(here, here.file.place(node), phrase("returned by {name}()", name=function.name))
    for site in model.callers(function, here.file).of_kind(Kind.CALL_SITE):
        home = model.node(site.place, here.file)
        if home is not None and isinstance(home[1], ast.Call) and site.name in ("plain", "bound"):
            yield here._replace(node=home[1], file=home[0], step=step)


# --- names and attributes ---


def _whole_operation(node: ast.BinOp, file: FileModel) -> ast.BinOp:
    """The operation of which ``node`` is a part, without a path: concatenations of thousands of strings exist."""
    up = file.parent(node)
    while isinstance(up, ast.BinOp) and not isinstance(up.op, ast.Div):
        node, up = up, file.parent(up)
    return node
