"""The program model: ask it what an expression stands for, who calls a function, and where a value goes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis import bindings, calls, classes, containers, sites, stores
from npuify.analysis.engine import Engine, Key, Project, Reach
from npuify.analysis.evaluate import evaluate
from npuify.analysis.files import FUNCTIONS, FileModel, Function
from npuify.analysis.flow.devices import denotes_device
from npuify.analysis.flow.flows import callees, flow_of
from npuify.analysis.flow.holders import Holders, holders_of
from npuify.analysis.flow.uses import looked_up_by_device, uses_of
from npuify.analysis.targets import bound_to
from npuify.analysis.values import STRINGS, Kind, Value, Values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.analysis.flow.destinations import Uses
    from npuify.analysis.flow.occurrences import Flow
    from npuify.analysis.targets import Bound
    from npuify.source.python.scopes import Scope


class ProgramModel(Engine):
    """What is known of a project's programs, worked out when it is asked for.

    See :class:`npuify.analysis.engine.Engine` for its arguments. Questions take a syntax node and the
    :class:`FileModel` that it belongs to, which :meth:`open` and :meth:`file` give.
    """

    # --- expressions ---

    def values(self, node: ast.expr, file: FileModel) -> Values:
        """What an expression may stand for; an empty set where it leads back to itself only."""
        return self.ask(file, node, evaluate, node, file, self)

    def kind(self, node: ast.expr, file: FileModel) -> Kind | None:
        """The one kind of thing that an expression stands for; None where kinds disagree, or one is not known."""
        return self.values(node, file).kind

    def text(self, node: ast.expr, file: FileModel) -> str | None:
        """The text that an expression surely is."""
        sole = self.values(node, file).sole
        return sole.name if sole is not None and sole.kind in STRINGS and sole.name else None

    def qualified(self, node: ast.expr, file: FileModel) -> frozenset[str]:
        """The dotted names that an expression may denote: of torch, of a package, of the project's own."""
        named = (Kind.TORCH_MODULE, Kind.TORCH_NAME, Kind.LIBRARY_NAME, Kind.MODULE, Kind.FUNCTION, Kind.CLASS)
        return frozenset(value.name for value in self.values(node, file).of_kind(*named, Kind.PROJECT_NAME))

    def name(self, name: str, scope: Scope, file: FileModel) -> Values:
        return self.ask(file, (scope.node, name), bindings.values_in_scope, name, scope, file, self)

    def bound(self, bound: Bound, file: FileModel) -> Values:
        return bindings.of_bound(bound, file, self)

    def attribute(self, values: Values, name: str, file: FileModel) -> Values:
        return classes.attribute(values, name, file, self)

    def items(self, values: Values, key: Key, file: FileModel) -> Values:
        return containers.items(values, key, file, self)

    def elements(self, values: Values, file: FileModel) -> Values:
        return containers.elements(values, file, self)

    def entered(self, values: Values, file: FileModel) -> Values:
        return calls.entered(values, file, self)

    def imported(self, module: str, file: FileModel) -> Values:
        return bindings.imported(module, file, self)

    def stored_in(self, file: FileModel, name: str) -> Values:
        return stores.stored_in(file, name, self)

    # --- functions and calls ---

    def called(self, callee: Value, file: FileModel) -> Values:
        return calls.called(callee, file, self)

    def parameter(self, arg: ast.arg, default: ast.expr | None, scope: Scope, file: FileModel) -> Values:
        return sites.values_of_parameter(arg, default, scope, file, self)

    def callers(self, function: Function, file: FileModel) -> Values:
        return sites.callers(function, file, self)

    def calls_of(self, function: Function, file: FileModel) -> list[tuple[FileModel, ast.Call]]:
        """The calls of a function that are known, with their files."""
        found = (self.node(site.place, file) for site in self.callers(function, file).of_kind(Kind.CALL_SITE))
        return [(home, node) for home, node in filter(None, found) if isinstance(node, ast.Call)]

    def callees(self, call: ast.Call, file: FileModel) -> list[tuple[FileModel, Function]]:
        """The functions of the project that a call may call; of a class, its ``__init__``."""
        found = {function: home for function, home, _ in callees(call, file, self)}
        return [(home, function) for function, home in found.items()]

    def returned(self, function: Function, file: FileModel) -> Values:
        """What a function of the project returns."""
        return calls.returned(function, file, self)

    def reached(self, nodes: Iterable[tuple[FileModel, ast.AST]]) -> list[tuple[FileModel, Function]]:
        """The functions of the project that code may call, directly or not."""
        found: dict[ast.AST, tuple[FileModel, Function]] = {}
        pending = list(nodes)
        while pending:
            file, node = pending.pop()
            file.see(node)
            if isinstance(node, FUNCTIONS):
                file.look_into(node)
            for inner in ast.walk(node):
                for home, function in self.callees(inner, file) if isinstance(inner, ast.Call) else ():
                    if function not in found:
                        found[function] = (home, function)
                        pending.append((home, function))
        return list(found.values())

    # --- classes ---

    def instance(self, value: Value, file: FileModel) -> Value:
        return classes.instance(value, file, self)

    def kind_of_class(self, node: ast.ClassDef, file: FileModel) -> Kind:
        """What sort of objects a class makes: ``MODEL``, ``DATASET``, …, ``INSTANCE``, or ``HEIR``."""
        return classes.kind_of_class(file, node, self)

    def lineage(self, node: ast.ClassDef, file: FileModel) -> list[tuple[FileModel, ast.ClassDef]]:
        """A class, and those of the project that it derives from."""
        return classes.lineage((file, node), self)

    def holders(self, node: ast.ClassDef, file: FileModel) -> Holders | None:
        """What holds the objects of a class, anywhere in the project; None where they may be anywhere."""
        return holders_of(node, file, self)

    def method(self, node: ast.ClassDef, name: str, file: FileModel) -> tuple[FileModel, Function] | None:
        """A method of a class, inherited ones too."""
        for home, one_ in self.lineage(node, file):
            for item in home.methods(one_):
                if item.name == name:
                    return home, item
        return None

    def assignments(self, node: ast.Attribute, file: FileModel) -> list[tuple[FileModel, Bound]]:
        """What assignments bind to an attribute of objects of the project's classes."""
        found: dict[ast.Attribute, FileModel] = {}
        for value in self.values(node.value, file):
            home = self.definition(value, file)
            if home is None or not isinstance(home[1], ast.ClassDef):
                continue
            for other, definition in self.lineage(home[1], home[0]):
                place = other.place(definition)
                owner = Value(Kind.CLASS, definition.name, place, place)
                found |= {target: at for at, target in stores.assignments(owner, node.attr, other, self)}
        return [(other, bound_to(target, other)) for target, other in found.items()]

    # --- flows ---

    def flow(self, node: ast.expr, file: FileModel) -> Flow:
        """Where the value of an expression goes."""
        return flow_of(node, file, self)

    def uses(self, node: ast.expr, file: FileModel, *, enough: bool = False) -> Uses:
        """What the value of an expression is used for, wherever it goes.

        With ``enough``, the first device that it reaches is enough, and a name may tell it.
        """
        return uses_of(node, file, self, enough=enough)

    def denotes_device(self, node: ast.expr, file: FileModel) -> bool:
        """Whether an expression denotes a device or its type, if only by its name."""
        return denotes_device(node, file, self)

    def looked_up_by_device(self, table: ast.Dict, file: FileModel) -> bool:
        """Whether a table is looked up with a device's type."""
        return looked_up_by_device(table, file, self)


_KEPT = 8
"""Other files that the models of a run remember; a scan goes on from file to file."""


class Models:
    """The models of one run, which the files that are looked at one after the other share."""

    def __init__(self) -> None:
        self._models: dict[Reach, ProgramModel] = {}

    def reaching(self, reach: Reach, project: Project) -> ProgramModel:
        """The model that looks so far; ``project`` notes from now on which files it looks at."""
        model = self._models.get(reach)
        if model is None:
            model = self._models[reach] = ProgramModel(project, reach, keep=_KEPT)
        model.project = project
        return model

    def start_file(self) -> None:
        """What is asked from now on is asked for another file; see :meth:`Engine.start_file`."""
        for model in self._models.values():
            model.start_file()

    def forget(self) -> None:
        """Let go of all files."""
        for model in self._models.values():
            model.forget()


__all__ = ["Kind", "Models", "ProgramModel", "Reach", "Value", "Values"]
