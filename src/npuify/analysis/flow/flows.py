"""Where a value goes: from an expression to the names, parameters, results and containers that get it from there."""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.arguments import defaults_of, parameter_for
from npuify.analysis.classes import lineage
from npuify.analysis.engine import Reach
from npuify.analysis.files import DEFINITIONS, FUNCTIONS
from npuify.analysis.flow.device_names import LOOKING, OPTIONS, REGISTRIES
from npuify.analysis.library.lookup import result_of
from npuify.analysis.library.table import LAYERS, MEMBERS, Gives
from npuify.analysis.values import MODELS, OBJECTS, Kind, Step, one
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel, Function
    from npuify.analysis.values import Place, Value

_HANDED_ON = frozenset((Gives.FIRST, Gives.WRAPPED, Gives.COPY, Gives.LIKE_FIRST))
MOST = 300
"""Places that a value is followed to."""
_HANDING_ON = (ast.BoolOp, ast.Await, ast.Starred, ast.FormattedValue, ast.JoinedStr)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
_TAKING = frozenset(("get", "pop", "popleft", "setdefault", "__getitem__"))
CHANGING_TEXT = frozenset(("format", "lower", "upper", "strip", "split"))
_KEEPING = frozenset(name for name, result in MEMBERS[Kind.MODEL].items() if result is Gives.SELF)
_GOING_THROUGH = frozenset(("values", "items", "enumerate", "list", "tuple", "reversed", "sorted", "iter", "copy"))


class Occurrence(NamedTuple):
    """An expression that has the value, or (``depth`` times) a container that holds it.

    ``by_name`` says that names alone are followed, too: an attribute of that name of who knows which object, the option
    of a program. ``sure`` is false where that was done.
    """

    node: ast.expr
    file: FileModel
    step: Step
    depth: int = 0
    by_name: bool = False
    sure: bool = True


class Flow(NamedTuple):
    """Where a value goes; ``is_whole`` says that it was followed everywhere."""

    occurrences: list[Occurrence]
    is_whole: bool


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
        yield from _readers(parent.target, here, model)
    elif isinstance(parent, ast.Assign):
        for target in parent.targets:
            yield from _readers(target, here, model)
    elif isinstance(parent, (ast.AnnAssign, ast.AugAssign)) and parent.value is node:
        yield from _readers(parent.target, here, model)
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
        yield from _readers(parent.optional_vars, here._replace(depth=here.depth - 1), model)
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
            yield from _readers(part, element, model)
    else:
        yield from _readers(target, element, model)


def _in_display(display: ast.List | ast.Tuple | ast.Set, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    parent = here.file.parent(display)
    if isinstance(parent, ast.Assign) and isinstance(display, (ast.Tuple, ast.List)):
        place = display.elts.index(here.node)
        taken_apart = False
        for target in parent.targets:
            if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(display.elts):
                taken_apart = True
                yield from _readers(target.elts[place], here, model)
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
        yield from _readers_of_container(call.func.value, here._replace(depth=here.depth + 1), model)
    if word == "dict":
        yield here._replace(node=call, depth=here.depth + 1)
    if word == "join" and here.depth and isinstance(call.func, ast.Attribute):
        yield here._replace(node=call, depth=here.depth - 1)
    second = word in LOOKING or (word == "setdefault" and is_environment(call.func, file))
    rest = call.args[1:2] if second else call.args[2:3] if word == "getattr" else []
    if word in ("str", "next", "cast", "format") or here.node in rest:
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
    step = _further(here, home.place(arg), text)
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
        step = _further(here, file.place(call), phrase("the option {name}", name=name))
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
    step = _further(here, here.file.place(node), phrase("returned by {name}()", name=function.name))
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


def _readers(target: ast.expr, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """Where what is assigned to a target is read."""
    if isinstance(target, ast.Name):
        yield from _readers_of_name(target, here, model)
    elif isinstance(target, ast.Attribute):
        yield from _readers_of_attribute(target, here, model)
    elif isinstance(target, ast.Subscript):
        yield from _readers_of_container(target.value, here._replace(depth=here.depth + 1), model)
    elif isinstance(target, (ast.Tuple, ast.List)) and here.depth:
        for element in target.elts:
            yield from _readers(element, here._replace(depth=here.depth - 1), model)


def _readers_of_container(node: ast.expr, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """Where a container is read that something is put into."""
    yield here._replace(node=node)
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield from _readers(node, here, model)


def _readers_of_name(target: ast.Name, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    file, name = here.file, target.id
    step = _further(here, file.place(target), phrase("assigned to {name}", name=name))
    scope = file.scope(target)
    found = scope.lookup(name)
    owner = found[0] if found is not None else scope.module
    for node in file.references(name):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read = file.scope(node).lookup(name)
            if (read[0] if read is not None else scope.module) is owner:
                yield here._replace(node=node, file=file, step=step)
    if owner.is_class and here.by_name and len(name) > 1 and not REGISTRIES.search(name):
        for node in file.references(name):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield here._replace(node=node, file=file, step=step, sure=False)
    if owner.is_class and model.reach is Reach.PROGRAM and isinstance(owner.node, ast.ClassDef):
        yield from _readers_of_member(owner.node, name, here._replace(step=step), model)
    if owner.parent is not None or model.reach is not Reach.PROGRAM:
        return
    qualified = f"{file.source.module}.{name}"
    for other in _files_taking(name, file, model):
        for node in other.references(name):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                if _is_imported(node, qualified, file, other, model):
                    yield here._replace(node=node, file=other, step=step)


def _readers_of_member(owner: ast.ClassDef, name: str, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """Where other files read what a class binds in its body: ``Settings.PLACE``, ``Kind.GPU``."""
    place = here.file.place(owner)
    for other in model.files_with(f".{name}"):
        if other is here.file:
            continue
        for node in other.references(name):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                if place in owners_of(node.value, other, model):
                    yield here._replace(node=node, file=other)


def _files_taking(name: str, file: FileModel, model: Engine) -> list[FileModel]:
    """The other files that may have a name of a module: they say the module, or a package that hands the name on."""
    *packages, module = file.source.module.split(".")
    held = set(model.project.files_with(name.encode()))
    folder = posixpath.dirname(file.relative)
    is_passed_on = file.relative.endswith("__init__.py") or posixpath.join(folder, "__init__.py") in held
    found = model.files_with(name, () if is_passed_on or not module else (module, *packages[-1:]))
    return [other for other in found if other is not file]


def _is_imported(
    node: ast.Name | ast.Attribute, qualified: str, file: FileModel, other: FileModel, model: Engine
) -> bool:
    if isinstance(node, ast.Attribute):
        place = file.place(file.source.tree)
        return any(value.kind is Kind.MODULE and value.place == place for value in model.values(node.value, other))
    found = other.scope(node).lookup(node.id)
    return found is not None and any(
        binding.kind == "import" and model.stands_for(binding.target.lstrip(".")) == qualified for binding in found[1]
    )


def _readers_of_attribute(target: ast.Attribute, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    file, name = here.file, target.attr
    if here.by_name and REGISTRIES.search(name):
        return
    step = _further(here, file.place(target), phrase("assigned to .{name}", name=name))
    owners = owners_of(target.value, file, model)
    others = {other.relative: other for other in model.files_with(f".{name}")}
    files = {file.relative: file, **others} | {file.relative: file}  # the project may hold it with the text of before
    for other in files.values():
        for node in other.references(name):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read = owners_of(node.value, other, model) if owners else owners
                if not owners or not owners.isdisjoint(read):
                    yield here._replace(node=node, file=other, step=step, sure=here.sure and bool(owners))
                elif here.by_name and not read and not _is_torchs(node.value, other, model):
                    yield here._replace(node=node, file=other, step=step, sure=False)


def _is_torchs(node: ast.expr, file: FileModel, model: Engine) -> bool:
    """Whether an expression surely is a tensor or module of torch's own."""
    values = model.values(node, file)
    return values.only(Kind.TENSOR, *MODELS) and not any(value.definition is not None for value in values)


def owners_of(node: ast.expr, file: FileModel, model: Engine) -> set[Place]:
    """The classes of the project, with their bases, of what an expression stands for; empty where that is not known."""
    found: set[Place] = set()
    for value in model.values(node, file):
        home = model.definition(value, file)
        if home is not None and isinstance(home[1], ast.ClassDef):
            found |= {one_[0].place(one_[1]) for one_ in lineage((home[0], home[1]), model)}
        elif value.kind is Kind.MODULE and value.place is not None:
            found.add(value.place)
    return found


def _further(here: Occurrence, place: Place, text: str) -> Step:
    return Step(place, text, here.step, here.step.length + 1)
