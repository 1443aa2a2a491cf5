"""Training steps of TensorFlow 2 that record a GradientTape: their models and calls, and what makes them no graph."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.distribute.reading.tensorflow import calls
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.reading.units import Unit

_VARIABLES: Final = ("trainable_variables", "trainable_weights", "variables")
_IN_PYTHON: Final = frozenset("print float int str open input tqdm list".split())
"""Functions that a graph calls once, as it is made, or cannot call."""
_OF_PYTHON: Final = frozenset("numpy append extend item write save save_weights pop add_scalar set_description".split())
"""Methods of which the same is true."""
_DEPTH: Final = 3


class Step(NamedTuple):
    """A function that applies the gradients of a tape.

    Attributes:
        function: it.
        tape: the expression that makes the tape.
        model: whose variables are trained, as the function writes it; None where that cannot be told.
    """

    function: ast.FunctionDef
    tape: ast.Call
    model: ast.expr | None


def steps(unit: Unit) -> list[Step]:
    """The steps of a file; tapes outside functions, and those that no optimizer follows, are none."""
    found: dict[ast.FunctionDef, Step] = {}
    for node in unit.nodes:
        if not isinstance(node, ast.With):
            continue
        for item in node.items:
            tape = item.context_expr
            if not (isinstance(tape, ast.Call) and unit.qualname(tape.func).endswith("tensorflow.GradientTape")):
                continue
            function = unit.function_around(node)
            if isinstance(function, ast.FunctionDef) and _applies(function):
                found.setdefault(function, Step(function, tape, _model(function)))
    return list(found.values())


def tapes_outside(unit: Unit) -> list[ast.Call]:
    """The tapes outside functions, in a file that applies gradients there."""
    found = [
        item.context_expr
        for node in unit.nodes
        if isinstance(node, ast.With) and isinstance(unit.function_around(node), ast.Module)
        for item in node.items
        if isinstance(item.context_expr, ast.Call)
        and unit.qualname(item.context_expr.func).endswith("tensorflow.GradientTape")
    ]
    applied = [one for one in calls(unit) if _is_method(one, "apply_gradients")]
    return found if any(isinstance(unit.function_around(one), ast.Module) for one in applied) else []


def _applies(function: ast.FunctionDef) -> bool:
    return any(_is_method(one, "apply_gradients") for one in ast.walk(function))


def _is_method(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


def _model(function: ast.FunctionDef) -> ast.expr | None:
    """The one model of whose variables a gradient is taken."""
    found: dict[str, ast.expr] = {}
    for call in ast.walk(function):
        if not (isinstance(call, ast.Call) and _is_method(call, "gradient") and len(call.args) > 1):
            continue
        given: ast.expr = call.args[1]
        if isinstance(given, ast.Name):
            values = [one.value for one in ast.walk(function) if isinstance(one, ast.Assign) and _names(one, given.id)]
            given = values[0] if len(values) == 1 else given
        if isinstance(given, ast.Attribute) and given.attr in _VARIABLES:
            found[ast.dump(given.value)] = given.value
        else:
            return None
    return next(iter(found.values())) if len(found) == 1 else None


def _names(node: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


def calls_of(unit: Unit, step: Step) -> list[ast.Call]:
    """The calls of a step in its file, by its name or as a method."""
    name = step.function.name
    in_class = isinstance(unit.parent(step.function), ast.ClassDef)
    found = []
    for call in calls(unit):
        func = call.func
        called = func.attr if isinstance(func, ast.Attribute) and in_class else getattr(func, "id", "")
        if called == name and unit.function_around(call) is not step.function:
            found.append(call)
    return found


def loops_around(unit: Unit, node: ast.AST) -> list[ast.For | ast.While]:
    """The loops around a node in its function, the innermost first."""
    found: list[ast.For | ast.While] = []
    up = unit.parent(node)
    while up is not None and not isinstance(up, (ast.FunctionDef, ast.Lambda, ast.Module)):
        if isinstance(up, (ast.For, ast.While)):
            found.append(up)
        up = unit.parent(up)
    return found


def is_graph(unit: Unit, step: Step) -> bool:
    """Whether a step is a ``tf.function``, is made one, or is called by one."""
    names = {step.function.name}
    for function in (one for one in unit.nodes if isinstance(one, ast.FunctionDef)):
        if any(unit.qualname(_called(one)).endswith("tensorflow.function") for one in function.decorator_list):
            inner = (one for one in ast.walk(function) if isinstance(one, ast.Call))
            if function is step.function or any(_last(one.func) in names for one in inner):
                return True
    for call in calls(unit):
        if unit.qualname(call.func).endswith("tensorflow.function") and call.args and _last(call.args[0]) in names:
            return True
    return False


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def why_no_graph(unit: Unit, step: Step) -> str:
    """What keeps a step from being made a ``tf.function``; empty where nothing was found."""
    if step.function.decorator_list:
        return "it has a decorator"
    for call in calls_of(unit, step):
        counters = {name for loop in loops_around(unit, call) for name in _counters(loop)}
        for given in (*call.args, *(one.value for one in call.keywords)):
            if isinstance(given, ast.Name) and given.id in counters:
                return phrase("it is given the number {id}, and a graph would be made for each", id=given.id)
    return next(_in_python(unit, step.function, _DEPTH), "")


def _counters(loop: ast.For | ast.While) -> Iterator[str]:
    """Names to which a loop assigns numbers of Python's."""
    if not (isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)):
        return
    called = _last(loop.iter.func)
    if called in ("range", "trange") and isinstance(loop.target, ast.Name):
        yield loop.target.id
    if called == "enumerate" and isinstance(loop.target, ast.Tuple) and isinstance(loop.target.elts[0], ast.Name):
        yield loop.target.elts[0].id


def _in_python(unit: Unit, function: ast.FunctionDef, depth: int) -> Iterator[str]:
    """What a function does that a graph does not do in each step, also in those of the file that it calls."""
    kind = unit.parent(function)
    methods = (
        {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
        if isinstance(kind, ast.ClassDef)
        else {}
    )
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.Try)):
            yield phrase("line {lineno} is of Python only", lineno=node.lineno)
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in targets):
                yield phrase("line {lineno} changes an object", lineno=node.lineno)
        elif isinstance(node, ast.Call):
            name = unit.qualname(node.func)
            called = _last(node.func)
            if isinstance(node.func, ast.Name) and called in _IN_PYTHON:
                yield phrase("line {lineno} calls {called}()", lineno=node.lineno, called=called)
            elif isinstance(node.func, ast.Attribute) and called in _OF_PYTHON:
                yield phrase("line {lineno} calls .{called}()", lineno=node.lineno, called=called)
            elif name.startswith(("numpy.", "random.", "time.", "os.", "wandb.", "logging.")):
                yield phrase("line {lineno} calls {name}()", lineno=node.lineno, name=name)
            elif depth:
                own = _own_function(unit, node.func, methods)
                if own is not None and own is not function:
                    yield from _in_python(unit, own, depth - 1)


def _own_function(unit: Unit, func: ast.expr, methods: dict[str, ast.FunctionDef]) -> ast.FunctionDef | None:
    if isinstance(func, ast.Attribute):
        return methods.get(func.attr) if isinstance(func.value, ast.Name) and func.value.id == "self" else None
    found = [one for one in unit.nodes if isinstance(one, ast.FunctionDef) and one.name == getattr(func, "id", "")]
    return found[0] if len(found) == 1 else None


def model_at(unit: Unit, step: Step, call: ast.Call) -> str:
    """How the model of a step is written where the step is called; empty where that cannot be told."""
    if step.model is None:
        return ""
    root: ast.expr = step.model
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return ""
    text = unit.source.code(step.model)
    parameters = [one.arg for one in (*step.function.args.posonlyargs, *step.function.args.args)]
    if root.id not in parameters:
        return text if not _is_bound_in(step.function, root.id) and _is_seen(unit, root.id, call) else ""
    bound = isinstance(unit.parent(step.function), ast.ClassDef)
    if bound and root.id == parameters[0]:
        given: ast.expr | None = call.func.value if isinstance(call.func, ast.Attribute) else None
    else:
        place = parameters.index(root.id) - bound
        given = call.args[place] if place < len(call.args) else None
        given = next((one.value for one in call.keywords if one.arg == root.id), given)
    if not isinstance(given, (ast.Name, ast.Attribute)):
        return ""
    return unit.source.code(given) + text[len(root.id) :]


def _is_bound_in(function: ast.FunctionDef, name: str) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in ast.walk(function)
    )


def _is_seen(unit: Unit, name: str, at: ast.AST) -> bool:
    """Whether a name of the file's top, or of the function around, is known at a place."""
    scopes = (unit.function_around(at), unit.source.tree)
    for node in unit.nodes:
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            if unit.function_around(node) in scopes:
                return True
    scope = unit.function_around(at)
    return isinstance(scope, ast.FunctionDef) and any(one.arg == name for one in scope.args.args)
