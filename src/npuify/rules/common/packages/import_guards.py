"""Whether the code goes on where an import fails, or is only run where the package is there."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.rules.common.defaults.conditions import holds_by_default, only_with
from npuify.rules.context import PythonFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.source.python.scopes import Binding

_CAUGHT = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException", "RuntimeError", "OSError"))
_PRESENCE = re.compile(
    r"(?i)available|installed|imported|importlib|find_spec|TYPE_CHECKING|\b_?(?:has|have)_|version|sys\.modules"
)
_IMPORT = re.compile(rb"\b(?:import|from)\b")
_INSIDE = re.compile(rb"\w")
_OPTION = re.compile(r"(?i)\b_?(?:with|use|is)_")


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
    """Whether ``node`` runs only where ``package`` is there, or where an option that is off by default asks for it.

    A condition that names the package, and of which nobody knows whether it holds, is no such thing: it may hold.
    """
    return asks_whether_there(node, file) or (
        any(_names(test, package, file) for test in _tests(node, file)) and bool(only_with(node, file))
    )


def asks_whether_there(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` stands under a condition that asks whether something is there.

    Conditions around the function count only where they stand in the same file and around its definition.
    """
    return any(_asks(test, file) for test in _tests(node, file))


def _tests(node: ast.AST, file: PythonFile) -> Iterator[ast.expr]:
    """The conditions around a node, but for those that hold by default."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)) and current is not up.test:
            by_default = isinstance(up, ast.If) and current in up.body and holds_by_default(up.test, file)
            if not by_default:
                yield up.test
        current = up


def _names(test: ast.expr, package: str, file: PythonFile) -> bool:
    text = file.code(test)
    return package.partition(".")[0].lower() in text.lower() or _OPTION.search(text) is not None


def _asks(test: ast.expr, file: PythonFile) -> bool:
    """Whether a condition asks what is there: by what it calls, or by names that say so or were bound by asking."""
    if _PRESENCE.search(file.code(test)):
        return True
    names = [node for node in ast.walk(test) if isinstance(node, ast.Name)]
    return any(_is_presence(node, file) for node in names)


def _is_presence(node: ast.Name, file: PythonFile) -> bool:
    """Whether a name is bound by asking what is there, or by an import that may fail; here or where it is from."""
    found = file.model.scope(node).lookup(node.id)
    bindings = found[1] if found is not None else []
    if len(bindings) == 1 and bindings[0].kind == "import":
        module, _, name = bindings[0].target.rpartition(".")
        relative = file.project.file_of(module)
        source = file.project.load(relative) if relative is not None else None
        if source is not None:
            file = PythonFile(source, file.run, is_stored=True)
            bindings = file.scope(source.tree).names.get(name, [])
    return any(_asks_or_is_caught(bound, file) for bound in bindings)


def _asks_or_is_caught(bound: Binding, file: PythonFile) -> bool:
    if bound.kind == "assign" and bound.value is not None and _PRESENCE.search(file.code(bound.value)):
        return True
    return any(
        isinstance(up, ast.Try)
        and any(_catches_imports(handler) for handler in up.handlers)
        and any(isinstance(one, (ast.Import, ast.ImportFrom)) for inner in up.body for one in ast.walk(inner))
        for up in file.model.ancestors(bound.node)
    )


def in_function(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` runs only when a function is called."""
    return any(isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) for up in file.ancestors(node))


def may_not_run(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` runs only where a function is called, or where a condition holds that may not."""
    return in_function(node, file) or any(True for _ in _tests(node, file))


def no_other_takes(bound: list[str], file: PythonFile) -> bool:
    """Whether no other module of the project can take the names that this one imports."""
    relative = file.source.relative
    if relative.endswith("__init__.py"):
        return False
    project = file.project
    taking = {other for word in (*(name.encode() for name in bound), b"import *") for other in project.files_with(word)}
    return taking.isdisjoint(files_importing(relative, project))


def files_importing(relative: str, project: ProjectIndex) -> tuple[str, ...]:
    """The other files that may import a module, by their text; any module of its name may be meant."""
    return project.once(("importing", relative), lambda view: tuple(_importing(relative, view)))


def _importing(relative: str, project: ProjectIndex) -> Iterator[str]:
    name = relative.rpartition("/")[2].removesuffix(".py").encode()
    for other in project.files_with(name):
        if other == relative:
            continue
        try:
            data = project.read(other)
        except OSError:
            yield other  # nobody knows
            continue
        if may_import(name, data):
            yield other


def may_import(name: bytes, data: bytes) -> bool:
    """Whether a name stands behind ``import`` or ``from`` on a line."""
    # Names are rarer than imports: a pattern that begins with these looks at most of the text.
    at = data.find(name)
    while at >= 0:
        end = at + len(name)
        is_whole = not (_INSIDE.match(data, at - 1, at) or _INSIDE.match(data, end, end + 1))
        if is_whole and _IMPORT.search(data, data.rfind(b"\n", 0, at) + 1, at):
            return True
        at = data.find(name, end)
    return False


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
