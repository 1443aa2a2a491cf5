"""What is asked of the program model about the entry point and the files that it imports."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.files import DEFINITIONS
from npuify.analysis.model import Kind, ProgramModel, Reach
from npuify.analysis.values import MODELS, OBJECTS, Values
from npuify.distribute.reading.units import Files, Unit
from npuify.model import NpuifyError
from npuify.source.python.scopes import absolute_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from npuify.analysis.files import FileModel
    from npuify.analysis.values import Value

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Questions:
    """The entry point with the project's files that it imports, directly or not, and the model of them.

    Args:
        root: the project's folder.
        files: relative paths of all Python files of the project.
        contents: the text of files that the migration has changed.
        entry: relative path of the file that is started.

    Raises:
        NpuifyError: the entry point is not there, or cannot be parsed.
    """

    def __init__(self, root: Path, files: list[str], contents: Mapping[str, bytes], entry: str) -> None:
        if entry not in files:
            raise NpuifyError("no such Python file in the project", advice="see --entry", file=entry)
        self.index = Files(root, files, contents, entry)
        self._units: dict[str, Unit] = {}
        pending = [entry]
        for relative in pending:
            source = self.index.load(relative) if relative not in self._units else None
            if source is not None:
                unit = self._units[relative] = Unit(source)
                pending += self._imported(unit)
        if entry not in self._units:
            raise NpuifyError("cannot be parsed", file=entry)
        self.entry = self._units[entry]
        self.units = list(self._units.values())
        self.model = ProgramModel(
            self.index,
            Reach.PROGRAM,
            keep=None,
            tells_calls_apart=True,
            resolve=lambda module, near: self.index.file_of(module),
        )
        self.model.files.update(self._units)
        self._callees: dict[ast.Call, list[tuple[Function, Unit]]] = {}
        self._callers: dict[ast.AST, list[tuple[ast.Call, Unit]]] | None = None
        self._called_in: dict[ast.AST, list[tuple[Function, Unit]]] = {}

    def _imported(self, unit: Unit) -> Iterator[str]:
        for node in unit.nodes:
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                module = absolute_module(node, unit.source.module, unit.relative.rpartition("/")[2] == "__init__.py")
                names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
            for name in names:
                relative = self.index.file_of(name)
                if relative is not None:
                    yield relative

    # --- what expressions are ---

    def values(self, node: ast.AST | None, unit: Unit) -> Values:
        """What an expression may stand for; nothing for what is no expression."""
        return self.model.values(node, unit) if isinstance(node, ast.expr) else Values()

    def of_kind(self, node: ast.AST | None, unit: Unit, *kinds: Kind) -> list[Value]:
        """The things of these kinds that an expression may stand for."""
        return self.values(node, unit).of_kind(*kinds)

    def makes(self, node: ast.expr, unit: Unit, kind: Kind) -> list[Value]:
        """The things of a kind that an expression itself makes, which are not made elsewhere."""
        place = unit.place(node)
        return [value for value in self.of_kind(node, unit, kind) if value.place == place]

    def maker(self, value: Value) -> tuple[ast.AST, Unit] | None:
        """The expression that makes a thing, with its file."""
        found = self.model.node(value.place)
        unit = self._units.get(found[0].relative) if found is not None else None
        return (found[1], unit) if found is not None and unit is not None else None

    def class_of(self, value: Value) -> tuple[ast.ClassDef, Unit] | None:
        """The class of the program that an object is of, with its file."""
        found = self.model.definition(value) if value.kind in OBJECTS else None
        unit = self._units.get(found[0].relative) if found is not None else None
        return (found[1], unit) if found is not None and unit and isinstance(found[1], ast.ClassDef) else None

    # --- classes ---

    def kind_of_class(self, node: ast.ClassDef, unit: Unit) -> Kind:
        """What sort of objects a class makes."""
        return self.model.kind_of_class(node, unit)

    def lineage(self, node: ast.ClassDef, unit: Unit) -> list[tuple[ast.ClassDef, Unit]]:
        """A class, and those of the program that it derives from."""
        found = ((one, self._units.get(home.relative)) for home, one in self.model.lineage(node, unit))
        return [(one, home) for one, home in found if home is not None]

    def method(self, node: ast.ClassDef, unit: Unit, name: str) -> tuple[Function, Unit] | None:
        """A method of a class, inherited ones too."""
        found = self.model.method(node, name, unit)
        home = self._units.get(found[0].relative) if found is not None else None
        return (found[1], home) if found is not None and home and isinstance(found[1], DEFINITIONS) else None

    # --- calls ---

    def callees(self, call: ast.Call, unit: Unit) -> list[tuple[Function, Unit]]:
        """The functions of the program that a call calls, or hands to a function of a package, which may call them."""
        known = self._callees.get(call)
        if known is None:
            known = self._own_functions(self.model.callees(call, unit))
            if not known and self.model.values(call, unit).kinds.isdisjoint(OBJECTS | MODELS):
                given = [*call.args, *(keyword.value for keyword in call.keywords)]
                handed = [value for node in given for value in self.of_kind(node, unit, Kind.FUNCTION)]
                known = self._own_functions(filter(None, map(self.model.definition, handed)))
            self._callees[call] = known
        return known

    def _own_functions(self, found: Iterable[tuple[FileModel, ast.AST]]) -> list[tuple[Function, Unit]]:
        homes = ((node, self._units.get(home.relative)) for home, node in found)
        return [(node, unit) for node, unit in homes if unit is not None and isinstance(node, DEFINITIONS)]

    def callers(self, function: ast.AST) -> list[tuple[ast.Call, Unit]]:
        """The calls that call a function, in the order of their lines."""
        if self._callers is None:
            self._callers = {}
            for unit in self.units:
                for call in (node for node in unit.nodes if isinstance(node, ast.Call)):
                    for callee, _ in self.callees(call, unit):
                        self._callers.setdefault(callee, []).append((call, unit))
            for calls in self._callers.values():
                calls.sort(key=lambda one: one[0].lineno)
        return self._callers.get(function, [])

    def reached(self, *nodes: tuple[ast.AST, Unit]) -> dict[ast.AST, Unit]:
        """The functions of the program that code may call, directly or not, with their files."""
        found: dict[ast.AST, Unit] = {}
        pending = list(nodes)
        while pending:
            for callee, home in self._called_by(*pending.pop()):
                if callee not in found:
                    found[callee] = home
                    pending.append((callee, home))
        return found

    def _called_by(self, node: ast.AST, unit: Unit) -> list[tuple[Function, Unit]]:
        if node not in self._called_in:
            calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
            self._called_in[node] = [one for call in calls for one in self.callees(call, unit)]
        return self._called_in[node]
