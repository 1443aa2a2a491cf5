"""Whether the code goes on where an import fails, or is only run where the package is there."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.project import EVERY_FILE
from npuify.rules.common.default_options import holds_by_default

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_CAUGHT = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException", "RuntimeError", "OSError"))
_ASKS = re.compile(r"(?i)available|installed|find_spec|TYPE_CHECKING|\b_?(?:has|have|with|use|is)_|version")


def has_fallback(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` stands in a ``try`` that catches a failing import and does more than raise again."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Try) and current in up.body:
            handlers = [handler for handler in up.handlers if _catches_imports(handler)]
            if handlers:
                return not any(_gives_up(handler) for handler in handlers)
        if isinstance(up, ast.With) and any("suppress" in file.code(item.context_expr) for item in up.items):
            return True
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return False
        current = up
    return False


def is_asked_for(node: ast.AST, package: str, file: PythonFile) -> bool:
    """Whether ``node`` stands under a condition that names ``package``, or asks what is there.

    Conditions around the function count only where they stand in the same file and around its definition.
    """
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)) and current is not up.test:
            test = file.code(up.test)
            if isinstance(up, ast.If) and current in up.body and holds_by_default(up.test, file):
                continue  # an option that asks for it by default
            if package.partition(".")[0].lower() in test.lower() or _ASKS.search(test):
                return True
        current = up
    return False


def in_function(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` runs only when a function is called."""
    return any(isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) for up in file.ancestors(node))


def no_other_takes(bound: list[str], file: PythonFile) -> bool:
    """Whether no other module of the project can take the names that this one imports."""
    relative = file.source.relative
    if relative.endswith("__init__.py"):
        return False
    own = re.escape(relative.rpartition("/")[2].removesuffix(".py").encode())
    names = [name.encode() for name in bound]
    pattern = re.compile(rb"\b(?:" + b"|".join(re.escape(name) for name in names) + rb")\b")
    importing = re.compile(rb"\bimport\b[^\n]*\b" + own + rb"\b|\bfrom\b[^\n]*\b" + own + rb"\b")
    file.project.dependencies.add(EVERY_FILE)
    project = file.project
    for other in sorted({other for word in (*names, b"import *") for other in project.files_with(word)} - {relative}):
        try:
            data = (project.root / other).read_bytes()
        except OSError:
            return False
        if importing.search(data) and (pattern.search(data) or b"import *" in data):
            return False
    return True


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _CAUGHT for kind in kinds)


def _gives_up(handler: ast.ExceptHandler) -> bool:
    """Whether a handler ends in ``raise``, in an exception that somebody forgot to raise, or ends the program."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise):
        return True
    call = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("exit", "_exit") or name in _CAUGHT
