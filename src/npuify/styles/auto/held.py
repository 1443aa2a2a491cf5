"""What containers hold under ``transfer_to_npu``: tensors say another word than the one that a program looks for."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.analysis.targets import bound_by
from npuify.analysis.values import Kind
from npuify.rules.common.containers import COPIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile

_ASKED: Final = re.compile(r"\.device\.|(?<![\w)\]])\([\s(]*[\w.()]+\.device[\s)]*\)\s*\.|\.type\b|\brepr[\s)]*\(")
"""What shows that a tensor is asked."""
_DEVICE: Final = re.compile(r"([\w.]*)\.device\b")
_OPTIONS: Final = re.compile(r"(?i)arg|opt|conf|cfg|flag|param|setting")
"""How objects with a program's options are called."""
_MADE_HERE: Final = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PUTTING: Final = frozenset("append appendleft add insert extend update setdefault".split())
_VIEWS: Final = frozenset("values keys items copy".split())
_ONE_OF: Final = frozenset("next max min".split())


def may_hold_said(node: ast.expr, file: PythonFile) -> bool:
    """Whether a container may hold what a tensor says of its device: ``kinds = [t.device.type for t in tensors]``.

    Args:
        node: the container, or a view or copy of it.
        file: the file that it stands in.
    """
    model = file.reaching(Reach.PROGRAM)
    node = _itself(node)
    values = model.values(node, file.model).where(lambda value: value.kind is Kind.CONTAINER)
    held = [*model.items(values, None, file.model), *model.elements(values, file.model)] if values else []
    if any(value.kind is Kind.DEVICE_STRING and not value.name for value in held):
        return True
    if isinstance(node, _MADE_HERE):
        return _asks_tensor(node, file)
    return isinstance(node, ast.Name) and any(_asks_tensor(put, file) for put in _put_into(node, file))


def comes_from_said(node: ast.expr, file: PythonFile) -> bool:
    """Whether a name is an element of what may hold such texts, or a part of one: ``kind, _ = said.split(":")``.

    Args:
        node: a name, or what takes one out of a container: ``next(…)``.
        file: the file that it stands in.
    """
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _ONE_OF and node.args:
        given = node.args[0]  # next(kind for kind in kinds)
        made = isinstance(given, (ast.ListComp, ast.GeneratorExp)) and comes_from_said(given.elt, file)
        return made or may_hold_said(given, file)
    found = file.model.scope(node).lookup(node.id) if isinstance(node, ast.Name) else None
    for binding in found[1] if found is not None else ():
        bound = bound_by(binding, file.model)
        if bound is None or bound.source is None:
            continue
        if bound.how == "element" and may_hold_said(bound.source, file):
            return True
        if bound.how == "value" and bound.path and _asks_tensor(bound.source, file):
            return True
    return False


def _asks_tensor(node: ast.expr, file: PythonFile) -> bool:
    """Whether a tensor is asked for its device in what is put into a container: ``args.device`` is an option."""
    code = file.code(node)
    if _ASKED.search(code) is not None:
        return True
    return any(_OPTIONS.search(found[1]) is None for found in _DEVICE.finditer(code))


def _itself(node: ast.expr) -> ast.expr:
    """The container of which something is a view or a copy: ``table`` in ``list(table.values())``."""
    while isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _VIEWS and not node.args:
            node = function.value
        elif isinstance(function, ast.Name) and function.id in COPIES and node.args:
            node = node.args[0]
        else:
            break
    return node


def _put_into(name: ast.Name, file: PythonFile) -> Iterator[ast.expr]:
    """What a file writes that goes into the container of this name."""
    yield from (made for made in file.assigned(name) if made is not None)
    for one in file.model.references(name.id):
        around = file.parent(one)
        if isinstance(around, ast.Subscript) and around.value is one:
            yield around.slice  # of a defaultdict also where it is read
            assign = file.parent(around)
            if isinstance(assign, (ast.Assign, ast.AugAssign)) and isinstance(around.ctx, ast.Store):
                yield assign.value
        call = file.parent(around) if isinstance(around, ast.Attribute) and around.attr in _PUTTING else None
        if isinstance(call, ast.Call) and call.func is around:
            yield from call.args


def has_said_within(text: ast.expr, file: PythonFile) -> bool:
    """Whether a text is put together from what a tensor says: ``"{}".format(x.device)``."""
    if isinstance(text, ast.Call) and getattr(text.func, "attr", "") == "format":
        parts = [*text.args, *(one.value for one in text.keywords)]
    elif isinstance(text, ast.BinOp) and isinstance(text.op, ast.Mod):
        parts = [*text.right.elts] if isinstance(text.right, ast.Tuple) else [text.right]
    elif isinstance(text, ast.JoinedStr):
        parts = [part.value for part in text.values if isinstance(part, ast.FormattedValue)]
    else:
        return False
    return any(
        isinstance(part, ast.Attribute) and part.attr == "device" and not is_option(part, file) for part in parts
    )


def is_option(node: ast.expr, file: PythonFile) -> bool:
    """Whether ``x.device`` is an option of the program, which stays as it is, and not what a tensor says.

    Where nothing is known of it, its object's name tells: ``args.device``.
    """
    if not isinstance(node, ast.Attribute) or node.attr != "device":
        return False
    values = file.values(node, Reach.PROGRAM)
    if values.is_known:
        return not any(value.kind is Kind.DEVICE and not value.name for value in values)
    return _OPTIONS.search(file.code(node.value)) is not None
