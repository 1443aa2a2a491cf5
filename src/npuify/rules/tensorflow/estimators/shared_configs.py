"""Run configurations that are made elsewhere than their Estimator: in a function, or in another module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.project import module_name
from npuify.rules.common.calls import argument
from npuify.rules.tensorflow.estimators.top_level import imported_as, top_level
from npuify.rules.tensorflow.names import short_name

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile
    from npuify.source.python import PythonSource

ESTIMATOR = "tf.estimator.Estimator"
CONFIG = "tf.estimator.RunConfig"
_MOST_FILES = 40
"""More files with a name are not read: it is a common word then."""


class Origin(NamedTuple):
    """A ``RunConfig`` and the name at the top of a module by which estimators get it."""

    source: PythonSource
    call: ast.Call
    holder: str
    """A variable, or a function that returns it."""
    is_function: bool


def origin_of(config: ast.expr | None, file: PythonFile) -> Origin | None:
    """Where the configuration that an estimator is given is made, if not in the scope of the estimator itself.

    Args:
        config: what the estimator is given.

    Returns:
        None where it is no ``RunConfig``, or not known.
    """
    if isinstance(config, ast.Name):
        values = file.assigned(config)
        if len(values) == 1 and isinstance(values[0], ast.Call):
            config = values[0]
            if _is_config(config, file.source):
                return origin_at(config, file.source)
    is_call = isinstance(config, ast.Call)
    target = config.func if isinstance(config, ast.Call) else config
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return None
    found = top_level(target, file)
    if found is None:
        return None
    source, value = found
    if isinstance(value, ast.FunctionDef) != is_call:
        return None
    made = _returned(value, source) if isinstance(value, ast.FunctionDef) else value
    return origin_at(made, source) if isinstance(made, ast.Call) and _is_config(made, source) else None


def origin_at(call: ast.Call, source: PythonSource) -> Origin | None:
    """The name by which others get the ``RunConfig`` that a call makes; None where it stays in a function."""
    statement = source.parent(call)
    while statement is not None and not isinstance(statement, ast.stmt):
        statement = source.parent(statement)
    around = source.parent(statement) if statement is not None else None
    if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            return None
        if isinstance(around, ast.Module):
            return Origin(source, call, target.id, is_function=False)
    if not isinstance(around, ast.FunctionDef) or not isinstance(source.parent(around), ast.Module):
        return None
    return Origin(source, call, around.name, is_function=True) if _returned(around, source) is call else None


def only_estimators_take(origin: Origin, file: PythonFile) -> bool:
    """Whether all that becomes of a configuration is that estimators of the project take it, and some does."""
    project = file.project
    others = project.files_with(origin.holder.encode())
    if len(others) > _MOST_FILES:
        return False
    home = origin.source.relative
    taken = False
    for relative in dict.fromkeys((home, *others)):
        source = file.source if relative == file.source.relative else project.load(relative)
        if source is None:
            return False
        uses, good = _uses(origin, source, relative == home)
        if len(uses) != len(good):
            return False
        taken = taken or bool(uses)
    return taken


def _is_config(node: ast.Call, source: PythonSource) -> bool:
    return short_name(source.qualname(node.func) or "") == CONFIG


def _returned(function: ast.FunctionDef, source: PythonSource) -> ast.expr | None:
    """What a function returns, where one statement does: also by a variable that is assigned once."""
    nodes = list(ast.walk(function))
    given = [one.value for one in nodes if isinstance(one, ast.Return)]
    if len(given) != 1 or any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in nodes):
        return None
    value = given[0]
    if not isinstance(value, ast.Name):
        return value
    stores = [one for one in nodes if isinstance(one, ast.Name) and one.id == value.id]
    assigned = [
        one.value
        for one in nodes
        if isinstance(one, ast.Assign) and any(isinstance(to, ast.Name) and to.id == value.id for to in one.targets)
    ]
    # Assigned, returned, and nothing else.
    return assigned[0] if len(stores) == 2 and len(assigned) == 1 else None


def _uses(origin: Origin, source: PythonSource, is_home: bool) -> tuple[set[ast.AST], set[ast.AST]]:
    """Where a module uses the name of an origin, and which of these places give it to an estimator."""
    nodes: list[ast.AST] = []
    source.visit(source.lines_with_names((origin.holder, "Estimator")), nodes.append)
    qualified = f"{module_name(origin.source.relative)}.{origin.holder}"
    uses = {one for one in nodes if _is_use(one, origin.holder, qualified, source, is_home)}
    good: set[ast.AST] = set()
    for node in nodes:
        if not isinstance(node, ast.Call) or short_name(source.qualname(node.func) or "") != ESTIMATOR:
            continue
        given = argument(node, 2, "config")
        if isinstance(given, ast.Name) and given not in uses:
            given = _assigned_for(given, source)
        place = given.func if isinstance(given, ast.Call) and origin.is_function else given
        if place in uses and isinstance(given, ast.Call) == origin.is_function:
            good.add(place)
    return uses, good


def _is_use(node: ast.AST, holder: str, qualified: str, source: PythonSource, is_home: bool) -> bool:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            return False
        if node.id == holder and is_home:
            found = source.scope_of(node).lookup(holder)
            return found is None or found[0] is source.scope
    elif not isinstance(node, ast.Attribute):
        return isinstance(node, ast.Constant) and node.value == holder
    named = imported_as(node, source) or ""
    return named == qualified or (named.endswith(f".{holder}") and qualified.endswith(f".{named}"))


def _assigned_for(name: ast.Name, source: PythonSource) -> ast.expr | None:
    """What a variable is assigned once, if nothing else reads it."""
    found = source.scope_of(name).lookup(name.id)
    if found is None or len(found[1]) != 1 or found[1][0].kind != "assign":
        return None
    reads: list[ast.AST] = []
    source.visit(source.lines_with_names((name.id,)), reads.append)
    count = sum(isinstance(one, ast.Name) and one.id == name.id and isinstance(one.ctx, ast.Load) for one in reads)
    return found[1][0].value if count == 1 else None
