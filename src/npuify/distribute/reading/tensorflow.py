"""What a TensorFlow program's expressions are, as far as one file shows: calls, data, values of names, models."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.reading.units import Unit

_SOURCES: Final = frozenset(
    "from_tensor_slices from_generator TFRecordDataset TextLineDataset FixedLengthRecordDataset list_files "
    "range".split()
)
_TRAINS: Final = re.compile(
    r"fit\w*|train\w*|minimize|\w*gradients?|GradientTape|\w*Optimizer|optimizers?|\w*Estimator"
)
"""Last names of calls and modules by which programs train, or may."""
_READS: Final = re.compile(r"tensorflow\.(?:compat\.v1\.)?(?:estimator\.inputs\.\w+_input_fn|train\.\w*input_producer)")
_WRAPPERS: Final = re.compile(r"npu_\w*optimizer\w*|NPU\w*Optimizer|Keras\w*Optimizer|DistributedOptimizer")


def calls(unit: Unit) -> list[ast.Call]:
    """All calls of a file, in the order of their places."""
    found = [node for node in unit.nodes if isinstance(node, ast.Call)]
    return sorted(found, key=lambda one: (one.lineno, one.col_offset))


def is_source(unit: Unit, call: ast.Call) -> bool:
    """Whether a call makes a Dataset of something that is none."""
    name = unit.qualname(call.func)
    return name.startswith("tensorflow.") and ".data." in name and name.rpartition(".")[2] in _SOURCES


def is_read_otherwise(unit: Unit, call: ast.Call) -> bool:
    """Whether a call gives data that is no Dataset: arrays for estimators, or a queue."""
    return _READS.fullmatch(unit.qualname(call.func)) is not None


def is_wrapped(unit: Unit, call: ast.Call) -> bool:
    """Whether an optimizer is given to a wrapper that averages already."""
    outer = unit.parent(call)
    if isinstance(outer, ast.Call):
        return _WRAPPERS.fullmatch(unit.source.code(outer.func).rpartition(".")[2]) is not None
    return False


def values(unit: Unit, node: ast.expr, at: ast.AST) -> list[ast.expr]:
    """What an expression may be: itself, and for a name all that is assigned to it in that function or the module."""
    found, names, seen = [node], [node], set[str]()
    while names:
        for part in ast.walk(names.pop()):
            if isinstance(part, ast.Name) and part.id not in seen:
                seen.add(part.id)
                assigned = list(_assigned(unit, part.id, at))
                found += assigned
                names += assigned
    return found


def _assigned(unit: Unit, name: str, at: ast.AST) -> Iterator[ast.expr]:
    scope = unit.function_around(at)
    for node in unit.nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == name:
                if unit.function_around(node) in (scope, unit.source.tree):
                    yield node.value


def is_built(unit: Unit, value: ast.expr) -> bool:
    """Whether a Keras model has its variables as soon as it is made."""
    if not isinstance(value, ast.Call):
        return False
    name = unit.qualname(value.func)
    last = name.rpartition(".")[2]
    if "keras" not in name:
        return False
    if ".applications." in name or (last == "Model" and (value.args or value.keywords)):
        return True
    if last != "Sequential" or not value.args:
        return False
    parts = [one for one in ast.walk(value.args[0]) if isinstance(one, ast.Call)]
    shaped = any(keyword.arg in ("input_shape", "input_dim") for one in parts for keyword in one.keywords)
    return shaped or any(unit.qualname(one.func).rpartition(".")[2] in ("Input", "InputLayer") for one in parts)


def trains(unit: Unit) -> bool:
    """Whether a file has a word by which programs train, as a name that it calls or a part of one."""
    for node in unit.nodes:
        word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if word and _TRAINS.fullmatch(word):
            return True
        if isinstance(node, ast.alias) and any(_TRAINS.fullmatch(part) for part in node.name.split(".")):
            return True
    return False


def imported(unit: Unit) -> set[str]:
    """The modules that a file imports."""
    found: set[str] = set()
    for node in unit.nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found
