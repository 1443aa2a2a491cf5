"""Whether a place runs each time the program is started, whatever it is given: what fails there stops the program."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.analysis.files import DEFINITIONS
from npuify.rules.common.blocks import first_in_block
from npuify.rules.common.defaults.conditions import holds_by_default
from npuify.rules.common.packages.import_guards import files_importing
from npuify.rules.context import PythonFile
from npuify.source.python.children import CHILD_FIELDS, plain_children

if TYPE_CHECKING:
    Definition = ast.FunctionDef | ast.AsyncFunctionDef

_DEEPEST: Final = 4
"""Functions, one calling another, through which a place is followed to where the program begins."""
_CUDA: Final = "torch.cuda.is_available"
_MOST_FILES: Final = 3
"""Files that import a module, and are looked into for calls."""
_CLOSED: Final = (*DEFINITIONS, ast.ClassDef, ast.Lambda)
_LEAVING: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_PERHAPS: Final = (ast.While, ast.comprehension, ast.Lambda, ast.Match, ast.ExceptHandler, ast.ListComp, ast.DictComp)


def surely_runs(node: ast.AST, file: PythonFile, depth: int = _DEEPEST) -> bool:
    """Whether nothing that the program finds keeps it from a place, where it is started without options.

    Args:
        node: the place.
        file: its file.
        depth: how many callers to go back.
    """
    current, guarded = node, False
    for up in file.ancestors(node):
        if isinstance(up, ast.stmt | ast.Module) and _may_end_before(current, up, file):
            return False
        if isinstance(up, DEFINITIONS):
            return current in up.body and depth > 0 and _surely_called(up, file, depth - 1)
        if isinstance(up, ast.If) and current is not up.test:
            if current not in up.body or not (_is_guard(up.test) or _holds(up.test, file)):
                return False
            guarded = guarded or _is_guard(up.test)
        elif not _leads_to(current, up):
            return False
        current = up
    return not guarded or not files_importing(file.source.relative, file.project)


def _leads_to(current: ast.AST, up: ast.AST) -> bool:
    """Whether what runs a node around a place also runs the place."""
    if isinstance(up, ast.IfExp):
        return current is up.test
    if isinstance(up, ast.BoolOp):
        return current is up.values[0]
    if isinstance(up, (ast.For, ast.AsyncFor)):
        return current is up.iter
    if isinstance(up, ast.Try):
        return not up.handlers or current in up.finalbody
    if isinstance(up, (ast.With, ast.AsyncWith)):
        return not any("suppress" in ast.dump(item.context_expr) for item in up.items)
    return not isinstance(up, (*_PERHAPS, ast.SetComp, ast.GeneratorExp, ast.ClassDef))


def _holds(test: ast.expr, file: PythonFile, steps: int = _DEEPEST) -> bool:
    """Whether a condition holds where the program is started on an NPU without options.

    After ``transfer_to_npu`` a program finds that CUDA is available, and its devices are called "cuda".
    """
    if not steps:
        return False
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return all(_holds(one, file, steps - 1) for one in test.values)
    if isinstance(test, ast.Call) and not test.args:
        names = ("torch.npu.is_available", "torch_npu.npu.is_available")
        return (file.qualname(test.func) or "") in (names if file.plan.style != "auto" else (*names, _CUDA))
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        asked = test.comparators[0]
        value = _only_value(test.left, file)
        if isinstance(value, ast.IfExp) and isinstance(asked, ast.Constant) and isinstance(asked.value, str):
            return ast.dump(value.body) == ast.dump(asked) and _holds(value.test, file, steps - 1)
    value = _only_value(test, file)
    return (value is not None and _holds(value, file, steps - 1)) or holds_by_default(test, file)


def _only_value(node: ast.expr, file: PythonFile) -> ast.expr | None:
    """What is assigned to a name that is bound once."""
    bound = file.assigned(node) if isinstance(node, ast.Name) else []
    return bound[0] if len(bound) == 1 else None


def _may_end_before(current: ast.AST, up: ast.AST, file: PythonFile) -> bool:
    """Whether a block may be left before it comes to one of its statements."""
    return first_in_block(current, up, file, "may leave", lambda one: _may_leave(one, file)) is not None


def _may_leave(statement: ast.stmt, file: PythonFile) -> bool:
    """Whether a statement may return, raise, or end the program; functions that do so are not looked into.

    Of a chain of conditions the branch counts that is taken by default, where that is known.
    """
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and holds_by_default(node.test, file):
            pending += node.body
            continue
        if isinstance(node, _LEAVING):
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("exit", "quit"):
            return True
        if not isinstance(node, _CLOSED):
            pending += plain_children(node, CHILD_FIELDS[node.__class__])
    return False


def _is_guard(test: ast.expr) -> bool:
    sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else []
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)


def _surely_called(definition: Definition, file: PythonFile, depth: int) -> bool:
    key = ("surely called", definition, depth)
    known = file.recall(key)
    if known is None:
        known = file.remember(key, _find_call(definition, file, depth))
    return bool(known)


def _find_call(definition: Definition, file: PythonFile, depth: int) -> bool:
    """Whether a function of a module is called by its name where the program surely comes."""
    if not isinstance(file.parent(definition), ast.Module) or not all(
        isinstance(one, ast.Call) and file.qualname(one.func) == "hydra.main" for one in definition.decorator_list
    ):
        return False
    if isinstance(definition, ast.AsyncFunctionDef) or _yields(definition):
        return False
    if _calls_in(definition.name, file, depth):
        return True
    importing = files_importing(file.source.relative, file.project)
    if not 0 < len(importing) <= _MOST_FILES:
        return False
    others = [PythonFile.of_project(other, file.run, is_stored=False) for other in importing]
    return all(
        other is not None and _calls_in(definition.name, other, depth, imported=file.source.module) for other in others
    )


def _calls_in(name: str, file: PythonFile, depth: int, imported: str = "") -> bool:
    for node in file.model.references(name):
        call = file.parent(node)
        if not isinstance(call, ast.Call) or call.func is not node or not isinstance(node, ast.Name | ast.Attribute):
            continue
        if imported:
            said = file.qualname(node) or ""
            if not said.endswith(f"{imported.rpartition('.')[2]}.{name}"):
                continue
        elif not isinstance(node, ast.Name):
            continue
        if surely_runs(call, file, depth):
            return True
    return False


def _yields(definition: Definition) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(definition))
