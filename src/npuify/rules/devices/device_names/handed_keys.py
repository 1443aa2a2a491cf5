"""Tables whose keys are handed out as devices: ``for kind, there in {"cuda": …, "cpu": True}.items()``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.files import FileModel
    from npuify.rules.context import PythonFile

_LOOPS: Final = (ast.For, ast.AsyncFor, ast.comprehension)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_COPIES: Final = frozenset(("list", "tuple", "sorted", "reversed", "iter"))
_ASKING: Final = frozenset(("get", "pop", "setdefault"))


def hands_out_devices(table: ast.Dict, file: PythonFile) -> bool:
    """Whether a table is gone through, and its keys are used as devices then.

    One that is also looked up by something unknown is none: nobody knows whether that says ``npu`` after the edit.
    """
    if file.plan.style == "auto":
        return False  # CUDA's word stays, and is taken for the NPU's where it is used
    found = file.reaching(Reach.FILE).flow(table, file.model).occurrences
    if any(one.depth or one.file is not file.model for one in found):
        return False
    keys = [key for one in found for key in _keys(one.node, file.model)]
    if not keys or any(_is_asked_for_unknown(one.node, keys, file.model) for one in found):
        return False
    model = file.reaching(Reach.PROGRAM)
    return any(model.uses(read, file.model).is_used_as_device for key in keys for read in _reads(key, file.model))


def names_of_options_as_devices(node: ast.expr, file: PythonFile) -> bool:
    """Whether names of options are used as devices: ``next(k for k, v in vars(args).items() if v)`` with ``--cuda``."""
    options = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if not isinstance(options, ast.Call) or getattr(options.func, "id", "") != "vars" or len(options.args) != 1:
        return False
    model = file.reaching(Reach.IMPORTS)
    taken = (read for key in _keys(options, file.model) for read in _reads(key, file.model))
    return any(model.uses(read, file.model).is_used_as_device for read in taken)


def _is_asked_for_unknown(node: ast.expr, keys: list[ast.Name], file: FileModel) -> bool:
    parent = file.parent(node)
    asked: ast.expr | None = None
    if isinstance(parent, ast.Subscript) and parent.value is node:
        asked = parent.slice
    call = file.parent(parent) if isinstance(parent, ast.Attribute) and parent.attr in _ASKING else None
    if isinstance(call, ast.Call) and call.args:
        asked = call.args[0]
    if isinstance(asked, ast.Name):
        return not any(asked in _reads(key, file) for key in keys)
    return asked is not None and not isinstance(asked, ast.Constant)


def _keys(node: ast.expr, file: FileModel) -> Iterator[ast.Name]:
    """The names that get the keys of a table in turn."""
    parent, pairs = file.parent(node), False
    if isinstance(parent, ast.Attribute) and parent.attr in ("items", "keys"):
        pairs, called = parent.attr == "items", file.parent(parent)
        if not isinstance(called, ast.Call) or called.func is not parent:
            return
        node, parent = called, file.parent(called)
    while isinstance(parent, ast.Call) and node in parent.args and getattr(parent.func, "id", "") in _COPIES:
        node, parent = parent, file.parent(parent)
    if not isinstance(parent, _LOOPS) or parent.iter is not node:
        return
    target = parent.target
    first = target.elts[0] if pairs and isinstance(target, (ast.Tuple, ast.List)) and target.elts else None
    found = first if pairs else target
    if isinstance(found, ast.Name):
        yield found


def _reads(bound: ast.Name, file: FileModel) -> Iterator[ast.Name]:
    """Where what a loop binds is read in it."""
    loop = next(up for up in file.ancestors(bound) if isinstance(up, (ast.For, ast.AsyncFor, *_COMPREHENSIONS)))
    for node in file.references(bound.id):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and loop in file.ancestors(node):
            yield node
