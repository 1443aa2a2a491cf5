"""What surely says, or holds, the type of a device, by all that a program hands to it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.analysis.values import Kind
from npuify.rules.common.containers import COPIES, OF_SETS

if TYPE_CHECKING:
    from npuify.analysis.values import Step, Values
    from npuify.rules.context import PythonFile

_INDEXED: Final = re.compile(r"cuda:(?:\d+|%d|%s|%i|\{[^{}]*\})?")
_COMPARED: Final = frozenset(
    "issubset issuperset isdisjoint difference intersection symmetric_difference "
    "difference_update intersection_update symmetric_difference_update".split()
)
"""Methods of a set to which another is given, of which nothing gets into it that it has not or is not asked for."""
_SOUGHT: Final = frozenset("count index remove discard __contains__".split())
"""Methods of a container that look for one element."""


def device_shape(node: ast.expr) -> str | None:
    """``exact`` for ``"cuda"``, ``indexed`` for ``"cuda:…"`` in all its spellings, None for any other string."""
    if isinstance(node, ast.Constant):
        if node.value == "cuda":
            return "exact"
        return "indexed" if isinstance(node.value, str) and _INDEXED.fullmatch(node.value) else None
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        if isinstance(first, ast.Constant) and first.value == "cuda:" and len(node.values) == 2:
            return "indexed"
        if isinstance(first, ast.Constant) and first.value == "cuda" and len(node.values) == 1:
            return "exact"
    return None


def says_device(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is surely the type that a device says, by all that the program hands to it.

    A text of the program itself is one where it becomes the NPU's name: both ends of a comparison change then.
    """
    return _all_say(file.values(node, Reach.PROGRAM), file)


def _all_say(values: Values, file: PythonFile) -> bool:
    if not values.only(Kind.DEVICE_STRING):
        return False
    named = [value for value in values if value.name.startswith("cuda")]
    if not named:
        return any(not value.name for value in values)
    return all(_is_edited(values.why(value), file) for value in named)


def _is_edited(steps: list[Step], file: PythonFile) -> bool:
    """Whether the text of the program with which steps begin is a device's name, which becomes the NPU's."""
    model = file.reaching(Reach.IMPORTS)
    found = model.node(steps[0].place, file.model) if steps else None
    if found is None or not isinstance(found[1], ast.Constant | ast.JoinedStr):
        return False
    if device_shape(found[1]) == "indexed":
        return True
    uses = model.uses(found[1], found[0])
    if uses.is_told or not uses.is_told_beyond:
        return uses.is_used_as_device
    # A function gives it to files that its own does not import.
    return file.reaching(Reach.PROGRAM).uses(found[1], found[0], enough=True).is_used_as_device


def is_held_against_devices(node: ast.expr, file: PythonFile) -> bool:
    """Whether a string is sought among what surely are types of devices: ``"cuda" in kinds``, ``kinds - {"cuda"}``.

    Args:
        node: the string.
        file: the file that it stands in.
    """
    parent = file.parent(node)
    if isinstance(parent, ast.Compare):
        is_sought = parent.left is node and isinstance(parent.ops[0], (ast.In, ast.NotIn))
        return is_sought and holds_devices(parent.comparators[0], file)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.args[:1] == [node]:
        return parent.func.attr in _SOUGHT and holds_devices(parent.func.value, file)
    if not isinstance(parent, (ast.List, ast.Tuple, ast.Set)):
        return False
    whole: ast.expr = parent
    around = file.parent(whole)
    while isinstance(around, ast.Call) and getattr(around.func, "id", "") in COPIES:
        whole, around = around, file.parent(around)
    if isinstance(around, ast.BinOp) and isinstance(around.op, OF_SETS):
        return holds_devices(around.right if around.left is whole else around.left, file)
    if isinstance(around, ast.AugAssign) and isinstance(around.op, OF_SETS) and around.value is whole:
        return isinstance(around.target, ast.Name) and holds_devices(around.target, file)
    if isinstance(around, ast.Compare) and not isinstance(around.ops[0], (ast.In, ast.NotIn)):
        return any(holds_devices(side, file) for side in (around.left, *around.comparators) if side is not whole)
    if isinstance(around, ast.Call) and whole in around.args and isinstance(around.func, ast.Attribute):
        return around.func.attr in _COMPARED and holds_devices(around.func.value, file)
    asked = file.parent(around) if isinstance(around, ast.Attribute) and around.attr in _COMPARED else None
    return isinstance(asked, ast.Call) and any(holds_devices(one, file) for one in asked.args)


def holds_devices(node: ast.expr, file: PythonFile) -> bool:
    """Whether all that a container holds surely are types of devices, those of the program itself edited as well."""
    while isinstance(node, ast.Call) and getattr(node.func, "id", "") in COPIES and len(node.args) == 1:
        node = node.args[0]
    model = file.reaching(Reach.PROGRAM)
    values = model.values(node, file.model)
    if not values.only(Kind.CONTAINER):
        return False
    held = model.elements(values, file.model)
    if file.plan.style == "auto" and all(value.name for value in held):
        return False  # the program's own texts stay, with what they are compared with
    return _all_say(held, file)
