"""Imports of Horovod of which nothing is left, and what a program does where there is no Horovod."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.analysis.project import module_name
from npuify.model import Safety
from npuify.rules.common.edits.statements import indentation, without_line
from npuify.rules.common.edits.taking_out import without_argument
from npuify.rules.tensorflow.names import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_CATCHES: Final = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASKS: Final = frozenset(("find_spec", "find_loader", "import_module", "__import__"))
"""Last names of functions by which a program asks whether there is a module."""


def import_left(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """An import of Horovod of which nothing is used any more, in a file that the adapter has been brought to.

    Where the program only asks whether the import went well, the answer stays yes: the adapter's functions do what
    Horovod did. Without that, a program with ``except ImportError: hvd = None`` would train each card for itself.
    """
    if not is_brought_over(file):
        return
    whole = isinstance(node, ast.ImportFrom)
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    ours = [one for one in node.names if _is_horovod(module if whole else one.name)]
    if not ours or (whole and len(ours) < len(node.names)):
        return
    uses = [use for one in ours for use in _uses(one.asname or one.name.partition(".")[0], node, file)]
    if any(not isinstance(use, ast.Name) or not _asks_whether(use, file) for use in uses):
        yield from _still_used(node, file)
        return
    elsewhere = _is_taken(ours, node, file)
    edits: list[Edit] = []
    if not elsewhere:
        edit = _as_known(node, ours, file) if uses else _without(node, ours, file)
        edits = [edit] if edit is not None else []
    yield file.report(
        node,
        "nothing of Horovod is used any more, and NPU machines have none",
        edits=edits,
        safety=None if edits else Safety.MANUAL,
        subject="horovod",
        advice="" if edits else "take the import out",
    )


def names_of(node: ast.Import | ast.ImportFrom, file: PythonFile) -> list[ast.Name]:
    """Where the names are read that an import binds to Horovod for TensorFlow, or to something in it."""
    whole = isinstance(node, ast.ImportFrom)
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    ours = [one for one in node.names if one.name != "*" and _is_horovod(module if whole else one.name)]
    uses = (use for one in ours for use in _uses(one.asname or one.name.partition(".")[0], node, file))
    return [use for use in uses if isinstance(use, ast.Name)]


def asks_for_horovod(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A call that asks whether there is Horovod: there is none on NPU machines."""
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    asked = node.args[0] if node.args else None
    if name not in _ASKS or not (isinstance(asked, ast.Constant) and isinstance(asked.value, str)):
        return
    if asked.value.split(".")[0] != "horovod" or asked.value.startswith("horovod.torch"):
        return
    if line_of(file) not in ("1", "v1 on 2"):
        return
    yield file.report(
        node,
        "NPU machines have no Horovod: what is behind this question is left out, or fails",
        safety=Safety.MANUAL,
        subject="horovod",
        advice="answer yes here once what it leads to uses the adapter's functions, whatever is installed",
    )


def is_brought_over(file: PythonFile) -> bool:
    """Whether a file for TensorFlow 1 imports the adapter already."""
    return line_of(file) in ("1", "v1 on 2") and (file.contains(b"npu_bridge") or file.contains(b"npu_device"))


def _is_horovod(module: str) -> bool:
    return module.split(".")[:2] in (["horovod", "tensorflow"], ["horovod", "keras"])


def _uses(name: str, node: ast.stmt, file: PythonFile) -> list[ast.AST]:
    """Where a name that a statement imports is read, or written in a string such as those of ``__all__``.

    What a function imports is its own; the same name elsewhere comes from another import.
    """
    if name == "*":
        return [file.source.tree]
    own = next((one for one in file.ancestors(node) if isinstance(one, _FUNCTIONS)), None)
    return [
        one
        for one in file.nodes_on_lines_with(name)
        if (
            (isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load))
            or (isinstance(one, ast.Constant) and one.value == name)
        )
        and (own is None or own in file.ancestors(one))
    ]


def _asks_whether(use: ast.Name, file: PythonFile) -> bool:
    """Whether a name is only asked to be true, or to be None."""
    parent = file.parent(use)
    if isinstance(parent, ast.Compare) and parent.left is use and len(parent.ops) == 1:
        other = parent.comparators[0]
        return (
            isinstance(parent.ops[0], (ast.Is, ast.IsNot)) and isinstance(other, ast.Constant) and other.value is None
        )
    return _is_test(use, file)


def _is_test(node: ast.AST, file: PythonFile) -> bool:
    """Whether of a value nothing counts but whether it is true."""
    parent = file.parent(node)
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    if isinstance(parent, ast.BoolOp):
        return (isinstance(parent.op, ast.And) and node is not parent.values[-1]) or _is_test(parent, file)
    return isinstance(parent, (ast.If, ast.IfExp, ast.While, ast.Assert)) and parent.test is node


def _is_taken(names: list[ast.alias], node: ast.stmt, file: PythonFile) -> bool:
    """Whether another file may take one of the names from this one."""
    if any(isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) for one in file.ancestors(node)):
        return False
    bound = {one.asname or one.name.partition(".")[0] for one in names}
    module = module_name(file.source.relative).rpartition(".")[2]
    return any(
        other != file.source.relative and _takes(other, module, name, file)
        for name in bound
        for other in file.project.files_with(name.encode())
    )


def _takes(other: str, module: str, name: str, file: PythonFile) -> bool:
    source = file.project.load(other)
    if source is None:
        return True
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            taken = {alias.name for alias in node.names} & {name, "*"}
            if taken and ((node.module or "").rpartition(".")[2] == module or (node.level and not node.module)):
                return True
        elif isinstance(node, ast.Attribute) and node.attr == name:
            return True
    return False


def _still_used(node: ast.stmt, file: PythonFile) -> Iterator[Diagnostic]:
    """What is left of Horovod behind an import that may fail: nobody would notice that it did."""
    around = _guard(node, file)
    if around is None or any(isinstance(one, ast.Raise) for handler in around.handlers for one in ast.walk(handler)):
        return
    yield file.report(
        node,
        "NPU machines have no Horovod: the program goes on without it, as if it had one card",
        safety=Safety.MANUAL,
        subject="horovod",
        advice="write what still uses Horovod with the adapter's functions, then take the import and its try out",
    )


def _guard(node: ast.stmt, file: PythonFile) -> ast.Try | None:
    """The ``try`` around an import whose handlers catch that it fails."""
    around = file.parent(node)
    if not isinstance(around, ast.Try) or node not in around.body:
        return None
    for handler in around.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is None or (isinstance(kind, ast.Name) and kind.id in _CATCHES) for kind in kinds):
            return around
    return None


def _as_known(node: ast.Import | ast.ImportFrom, ours: list[ast.alias], file: PythonFile) -> Edit | None:
    """In the place of an import about which is asked whether it went well: that it did."""
    if len(ours) != len(node.names) or len(ours) != 1 or indentation(node, file) is None:
        return None
    name = ours[0].asname or ours[0].name.partition(".")[0]
    return file.replace(node, f"{name} = True  # the functions of npu_bridge take the place of Horovod's")


def _without(node: ast.Import | ast.ImportFrom, ours: list[ast.alias], file: PythonFile) -> Edit | None:
    """Take aliases out of an import, or the statement where no other is left, with its ``try`` where nothing else is
    tried; None where a comment would go with it."""
    if len(ours) < len(node.names):
        return without_argument(node.names, node.names.index(ours[0]), file) if len(ours) == 1 else None
    around = file.parent(node)
    block = getattr(around, "body", [])
    if node not in block:
        block = getattr(around, "orelse", [])
    if len(block) > 1 and node in block:
        return without_line(node, file, with_pragma=True)
    guard = _guard(node, file)
    if guard is not None and not guard.orelse and not guard.finalbody and _stands_alone(guard, file):
        edit = without_line(guard, file)
        if edit is not None:
            return edit
    return file.replace(node, "pass") if without_line(node, file, with_pragma=True) is not None else None


def _stands_alone(guard: ast.Try, file: PythonFile) -> bool:
    """Whether a ``try`` can go as a whole: others stand beside it, no comment is in it, nothing in it is used."""
    block = getattr(file.parent(guard), "body", [])
    code = file.source.segment(file.source.start(guard), file.source.end(guard))
    bound = [one for one in ast.walk(guard) if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    return len(block) > 1 and guard in block and "#" not in code and not bound
