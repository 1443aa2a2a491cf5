"""Where the data of a TensorFlow program comes from, through its own functions, and what becomes of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.distribute.reading.tensorflow import calls, is_source, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.reading.units import Unit

_Place = tuple[ast.expr, ast.AST]
"""An expression, and a node of the function in which its names are looked up."""


def sources_of(unit: Unit, node: ast.expr, at: ast.AST) -> list[ast.Call]:
    """The calls that make the Datasets which reach an expression.

    Followed are assignments, arguments of the file's own functions, and what a function returns that is called once:
    what is called several times may make data to evaluate on as well.
    """
    found: list[ast.Call] = []
    waiting: list[_Place] = [(node, at)]
    seen = set[int]()
    while waiting:
        start, here = waiting.pop()
        if id(start) in seen:
            continue
        seen.add(id(start))
        for value in values(unit, start, here):
            for part in ast.walk(value):
                if isinstance(part, ast.Call):
                    if is_source(unit, part):
                        found.append(part)
                    waiting += _returned(unit, part)
                elif isinstance(part, ast.Name):
                    waiting += [*_passed(unit, part.id, here), *_unpacked(unit, part.id, here)]
    return list(dict.fromkeys(found))


def _passed(unit: Unit, name: str, at: ast.AST) -> Iterator[_Place]:
    """What callers give for a parameter."""
    function = unit.function_around(at)
    if not isinstance(function, ast.FunctionDef):
        return
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if name not in names:
        return
    for call in _calls_of(unit, function):
        place = names.index(name) - (isinstance(call.func, ast.Attribute) and names[0] in ("self", "cls"))
        given = next((one.value for one in call.keywords if one.arg == name), None)
        if given is None and 0 <= place < len(call.args) and not isinstance(call.args[place], ast.Starred):
            given = call.args[place]
        if given is not None:
            yield given, call


def _unpacked(unit: Unit, name: str, at: ast.AST) -> Iterator[_Place]:
    """What a name is assigned as a part of several."""
    scope = unit.function_around(at)
    for node in unit.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        if unit.function_around(node) not in (scope, unit.source.tree):
            continue
        parts = _parts(node.targets[0])
        if name not in parts or not isinstance(node.targets[0], ast.Tuple):
            continue
        place = parts.index(name)
        for value, where in ((node.value, node), *_returned(unit, node.value)):
            if isinstance(value, ast.Tuple) and place < len(value.elts):
                yield value.elts[place], where


def _parts(target: ast.AST | None) -> list[str]:
    """The names among several that are assigned, or given back, together; empty for other parts."""
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [one.id if isinstance(one, ast.Name) else "" for one in parts]


def _returned(unit: Unit, node: ast.expr) -> list[_Place]:
    """What a call of one of the file's own functions gives, if it is the only one and the function returns once."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return []
    name = node.func.id
    functions = [one for one in unit.nodes if isinstance(one, ast.FunctionDef) and one.name == name]
    if len(functions) != 1 or len(_calls_of(unit, functions[0])) != 1:
        return []
    given = _returns(unit, functions[0])
    return [(given[0].value, given[0])] if len(given) == 1 and given[0].value is not None else []


def _returns(unit: Unit, function: ast.FunctionDef) -> list[ast.Return]:
    inner = (one for one in ast.walk(function) if isinstance(one, ast.Return))
    return [one for one in inner if unit.function_around(one) is function]


def _calls_of(unit: Unit, function: ast.FunctionDef) -> list[ast.Call]:
    return [one for one in calls(unit) if unit.source.code(one.func).rpartition(".")[2] == function.name]


def chain_of(unit: Unit, source: ast.Call) -> Iterator[ast.Call]:
    """Calls of methods on what a source gives: in its expression, on the names that it goes to, and on those behind the
    only call of a function that returns it."""
    last: ast.AST = source
    for call in _methods(unit, source):
        yield call
        last = call
    statement = unit.statement(source)
    names = _parts(statement.targets[0]) if isinstance(statement, ast.Assign) else []
    scope = unit.function_around(source)
    seen = {scope}
    while True:
        name = names[0] if len(names) == 1 else ""
        if name:
            yield from _on_name(unit, name, scope)
        outer = _given_back(unit, name, last, scope)
        if outer is None or unit.function_around(outer[0]) in seen:
            return
        call, place = outer
        last = call
        for method in _methods(unit, call):
            yield method
            last = method
        scope = unit.function_around(call)
        seen.add(scope)
        statement = unit.statement(call)
        targets = _parts(statement.targets[0]) if isinstance(statement, ast.Assign) else []
        is_several = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
        names = targets[place : place + 1] if is_several else targets if place == 0 else []


def _methods(unit: Unit, node: ast.AST) -> Iterator[ast.Call]:
    """Calls of methods in the expression around a value."""
    while True:
        outer = unit.parent(node)
        call = unit.parent(outer) if isinstance(outer, ast.Attribute) else None
        if not (isinstance(call, ast.Call) and call.func is outer):
            return
        yield call
        node = call


def _on_name(unit: Unit, name: str, scope: ast.AST) -> Iterator[ast.Call]:
    for call in calls(unit):
        root: ast.expr = call.func
        while isinstance(root, (ast.Attribute, ast.Call)):
            root = root.value if isinstance(root, ast.Attribute) else root.func
        if isinstance(root, ast.Name) and root.id == name and unit.function_around(call) is scope:
            yield call


def _given_back(unit: Unit, name: str, last: ast.AST, scope: ast.AST) -> tuple[ast.Call, int] | None:
    """The only call of the function that returns what goes by a name, or an expression, and its place there."""
    if not isinstance(scope, ast.FunctionDef):
        return None
    made, callers = _returns(unit, scope), _calls_of(unit, scope)
    if len(made) != 1 or len(callers) != 1:
        return None
    value = made[0].value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    for place, part in enumerate(parts):
        if part is last or (isinstance(part, ast.Name) and part.id == name):
            return callers[0], place
        methods = [one for one in ast.walk(part) if isinstance(one, ast.Name)] if part is not None else []
        if isinstance(part, ast.Call) and name and [one.id for one in methods][:1] == [name]:
            return callers[0], place
    return None


_MIXES: Final = frozenset("shuffle batch repeat interleave flat_map window unbatch apply prefetch concatenate".split())
"""Methods behind which a part of the data is another part, or is counted in batches."""


def extent_of(unit: Unit, source: ast.Call, chain: list[ast.Call]) -> tuple[ast.Call, str]:
    """Where data has its final extent: the source, or the last ``take`` or ``skip`` of it that surely runs.

    Returns:
        The call, and the name of the method that speaks against sharing the data out there; empty where none does.
    """
    own = unit.statement(source)
    block = unit.parent(own)
    target = own.targets[0].id if isinstance(own, ast.Assign) and isinstance(own.targets[0], ast.Name) else ""
    found, mixed = source, False
    for one in sorted(chain, key=lambda call: unit.source.end(call)):
        name = one.func.attr if isinstance(one.func, ast.Attribute) else ""
        if name in ("shard", "padded_batch"):
            return one, name
        if name in ("take", "skip"):
            statement = unit.statement(one)
            again = (
                isinstance(statement, ast.Assign)
                and [getattr(each, "id", "") for each in statement.targets] == [target]
                and unit.parent(statement) is block
                and isinstance(block, (ast.Module, ast.FunctionDef))
            )
            if mixed or not (statement is own or again):
                return one, name
            found = one
        mixed = mixed or name in _MIXES
    return found, ""
