"""Parameters that may get no gradient in a step, which DistributedDataParallel has to be told of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.values import Kind
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.analysis.values import Value
    from npuify.distribute.reading.program import Function, Program, Unit


class Reason(NamedTuple):
    """Why a parameter may go unused, and where that is."""

    unit: Unit
    node: ast.AST
    text: str


def unused_parameters(model: Value, program: Program) -> Reason | None:
    """Why a model may leave parameters unused in a step; None where nothing speaks for it."""
    holder = program.class_of(model)
    if holder is None:
        return None
    definition, unit = holder
    found, made = program.method(*holder, "forward"), program.method(*holder, "__init__")
    if found is None or made is None:
        return None
    (forward, where), initial = found, made[0]
    layers = _layers(*made, program)
    used: set[str] = set()
    everywhere = [forward, *program.reached(found)]
    for function in everywhere:
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and node.attr in layers:
                used.add(node.attr)
    calls_itself = any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"
        for function in everywhere
        for node in ast.walk(function)
    )
    if not calls_itself:
        for name, node in layers.items():
            if name not in used and not _is_shared(name, definition):
                return Reason(unit, node, phrase("forward does not use self.{name}", name=name))
    for branch in ast.walk(forward):
        if not isinstance(branch, (ast.If, ast.IfExp)) or _is_fixed(branch.test, initial):
            continue
        sides = [_used(branch.body, layers), _used(branch.orelse, layers)]
        ends = isinstance(branch, ast.If) and any(isinstance(node, ast.Return) for node in ast.walk(branch))
        if ends and isinstance(branch, ast.If) and not branch.orelse:
            after = [node for node in ast.walk(forward) if getattr(node, "lineno", 0) > (branch.end_lineno or 0)]
            sides[1] = {node.attr for node in after if isinstance(node, ast.Attribute) and node.attr in layers}
        if sides[0] != sides[1] and (sides[0] - sides[1] or (sides[1] - sides[0])):
            outside = _used_outside(forward, branch, layers)
            only = (sides[0] ^ sides[1]) - outside
            if only:
                names = ", ".join(f"self.{name}" for name in sorted(only))
                return Reason(
                    where,
                    branch,
                    phrase("forward uses {names} only if {test}", names=names, test=where.source.code(branch.test)),
                )
    return None


def _layers(initial: Function, unit: Unit, program: Program) -> dict[str, ast.AST]:
    """The attributes of ``self`` that are set to layers, with the statement."""
    found: dict[str, ast.AST] = {}
    for node in ast.walk(initial):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
            target = node.targets[0]
            if isinstance(target.value, ast.Name) and target.value.id == "self":
                if program.of_kind(node.value, unit, Kind.MODEL) and _may_learn(node.value, unit):
                    found[target.attr] = node
    return found


_WITHOUT = frozenset(
    "ReLU GELU SiLU Tanh Sigmoid Softmax LogSoftmax Dropout Dropout1d Dropout2d Dropout3d MaxPool1d MaxPool2d "
    "AvgPool1d AvgPool2d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool2d Flatten Unflatten Identity LeakyReLU "
    "ReLU6 ELU Upsample PixelShuffle Softplus Hardswish Hardtanh ReflectionPad2d ZeroPad2d Fold Unfold "
    "UpsamplingBilinear2d".split()
)


def _may_learn(node: ast.expr, unit: Unit) -> bool:
    """Whether a layer can have parameters."""
    name = unit.qualname(node.func) if isinstance(node, ast.Call) else ""
    return name.rpartition(".")[2] not in _WITHOUT


def _is_shared(name: str, definition: ast.ClassDef) -> bool:
    """Whether the class hands a layer to something else, so that its use cannot be followed by its name."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
            return True
    return False


def _is_fixed(test: ast.expr, initial: ast.AST) -> bool:
    """Whether a condition is the same in every step: of attributes of ``self`` that only ``__init__`` sets."""
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and node.id not in ("self", "isinstance", "hasattr", "len", "True", "False"):
            return False
        if isinstance(node, ast.Attribute) and node.attr == "training":
            return True
    return any(isinstance(node, ast.Name) and node.id == "self" for node in ast.walk(test))


def _used(part: ast.AST | list[ast.stmt], layers: dict[str, ast.AST]) -> set[str]:
    nodes = part if isinstance(part, list) else [part]
    return {
        node.attr for one in nodes for node in ast.walk(one) if isinstance(node, ast.Attribute) and node.attr in layers
    }


def _used_outside(forward: ast.AST, branch: ast.AST, layers: dict[str, ast.AST]) -> set[str]:
    """The layers that are used before a branch, whichever way it goes."""
    line = getattr(branch, "lineno", 0)
    return {
        node.attr
        for node in ast.walk(forward)
        if isinstance(node, ast.Attribute) and node.attr in layers and node.lineno < line
    }
