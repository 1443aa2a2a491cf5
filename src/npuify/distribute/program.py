"""The files of a project that a training program consists of, as they are after the migration to the NPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.project import ProjectIndex, module_name
from npuify.model import NpuifyError
from npuify.source.python import PythonSource
from npuify.source.python.scopes import Binding
from npuify.source.text import UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class Unit:
    """One file of the program, parsed whole, with parents and scopes of all its nodes."""

    def __init__(self, source: PythonSource) -> None:
        self.source = source
        self.relative = source.relative
        source.visit(range(1, len(source.text.line_starts) + 2), lambda node: None)
        self.nodes = list(ast.walk(source.tree))

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        return self.source.ancestors(node)

    def frame(self, node: ast.AST) -> ast.AST:
        """The function or module whose statements ``node`` belongs to."""
        for up in self.ancestors(node):
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
                return up
        return self.source.tree

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node stands in (itself, if it is one)."""
        current = node
        for up in (node, *self.ancestors(node)):
            current = up
            if isinstance(up, ast.stmt):
                return up
        raise AssertionError(f"{type(current).__name__} stands in no statement")

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        return next((up for up in self.ancestors(node) if isinstance(up, ast.ClassDef)), None)

    def block(self, statement: ast.stmt) -> tuple[list[ast.stmt], int]:
        """The list of statements that a statement stands in, and its place there."""
        parent = self.source.parent(statement)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block, block.index(statement)
        return [statement], 0

    def qualname(self, node: ast.AST | None) -> str:
        """The full name of what an expression denotes; empty where it is not known."""
        return self.source.qualname(node) or "" if node is not None else ""


class Program:
    """The entry point with the project's files that it imports, directly or not.

    Args:
        root: the project's folder.
        files: relative paths of all Python files of the project.
        contents: the text of files that the migration has changed.
        entry: relative path of the file that is started.

    Raises:
        NpuifyError: the entry point is not there, or cannot be parsed.
    """

    def __init__(self, root: Path, files: list[str], contents: Mapping[str, bytes], entry: str) -> None:
        self.root = root
        self.contents = contents
        self.index = ProjectIndex(root, files, [])
        self._units: dict[str, Unit | None] = {}
        if entry not in files:
            raise NpuifyError("no such Python file in the project", advice="see --entry", file=entry)
        found = self.unit(entry)
        if found is None:
            raise NpuifyError("cannot be parsed", file=entry)
        self.entry: Unit = found
        self.units: list[Unit] = []
        pending = [self.entry]
        while pending:
            unit = pending.pop(0)
            if unit in self.units:
                continue
            self.units.append(unit)
            pending += self._imported(unit)

    def unit(self, relative: str) -> Unit | None:
        """A file of the project; None where it cannot be read or parsed."""
        if relative not in self._units:
            try:
                raw = self.contents.get(relative)
                raw = (self.root / relative).read_bytes() if raw is None else raw
                source = PythonSource(relative, module_name(relative), raw)
                source.reexport = self.reexport
                unit = self._units[relative] = Unit(source)
                self._name_stars(unit)
            except (OSError, UnreadableText, SyntaxError):
                self._units[relative] = None
        return self._units[relative]

    def _name_stars(self, unit: Unit) -> None:
        """Bind what ``from module import *`` brings from the project's own modules, name by name."""
        scope = unit.source.scope
        for node in unit.nodes:
            if not isinstance(node, ast.ImportFrom) or not any(alias.name == "*" for alias in node.names):
                continue
            module = self._absolute(unit, node)
            found = self.module(module, unit)
            for name in _public_names(found) if found is not None and found is not unit else ():
                if name not in scope.names:
                    scope.names[name] = [Binding("import", node.names[0], target=f"{module}.{name}")]

    def _imported(self, unit: Unit) -> Iterator[Unit]:
        for node in unit.nodes:
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(unit, node)
                names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
            for name in names:
                found = self.module(name, unit)
                if found is not None:
                    yield found

    def _absolute(self, unit: Unit, node: ast.ImportFrom) -> str:
        from npuify.source.python.scopes import absolute_module

        package = unit.relative.rpartition("/")[2] == "__init__.py"
        return absolute_module(node, unit.source.module, package)

    def module(self, name: str, near: Unit | None = None) -> Unit | None:
        """The file of a module, looked for beside ``near`` first, as Python does for a script."""
        if not name:
            return None
        files = self.index.modules.values()
        if near is not None:
            folder = self.entry.relative.rpartition("/")[0] if hasattr(self, "entry") else ""
            path = "/".join([*filter(None, [folder]), *name.split(".")])
            for relative in (f"{path}.py", f"{path}/__init__.py"):
                if relative in files:
                    return self.unit(relative)
        relative_path = self.index.modules.get(name) or self.index.file_of(name)
        return self.unit(relative_path) if relative_path is not None else None

    def binding(self, qualified: str) -> tuple[Unit, list[Binding]] | None:
        """Where the project binds ``package.module.name`` at the top of a module."""
        module, _, name = qualified.lstrip(".").rpartition(".")
        unit = self.module(module, self.entry if hasattr(self, "entry") else None)
        bindings = unit.source.scope.names.get(name) if unit is not None else None
        return (unit, bindings) if unit is not None and bindings else None

    def reexport(self, qualified: str) -> str | None:
        """What a name that a module of the project imports stands for in the end."""
        name = qualified
        for _ in range(8):
            found = self.binding(name)
            targets = {one.target for one in found[1] if one.kind == "import"} if found is not None else set()
            if found is None or len(targets) != 1:
                break
            name = targets.pop()
        return name if name != qualified else None


def _public_names(unit: Unit) -> list[str]:
    """What ``import *`` takes from a module: the names in ``__all__``, else those without an underscore."""
    for binding in unit.source.scope.names.get("__all__", ()):
        if isinstance(binding.value, (ast.List, ast.Tuple)):
            return [item.value for item in binding.value.elts if isinstance(item, ast.Constant)]  # type: ignore[misc]
    return [name for name in unit.source.scope.names if not name.startswith("_")]
