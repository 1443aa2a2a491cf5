"""What placing asks of the program model. All values of an expression have to agree; what is not known is nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.arguments import Missing, argument_for, parameter_for
from npuify.analysis.files import DEFINITIONS, FUNCTIONS, inside
from npuify.analysis.flow import flows
from npuify.analysis.model import ProgramModel, Reach
from npuify.analysis.sites import arguments_at
from npuify.analysis.targets import bound_by
from npuify.analysis.values import MODELS, UNKNOWN, Kind, Value, Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.files import FileModel
    from npuify.analysis.targets import Bound
    from npuify.source.python.scopes import Scope

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor
Expression = tuple["FileModel", ast.expr]
"""An expression, with the file that it stands in."""
_NAMED = frozenset((Kind.TORCH_NAME, Kind.LIBRARY_NAME, Kind.FUNCTION, Kind.CLASS, Kind.PROJECT_NAME))
_NOT_SAID = frozenset(("torch.hub.load",))
"""Functions that give a model in most programs, and anything at all in others."""
_NO_TENSORS = (
    *(Kind.NUMBER, Kind.STRING, Kind.DEVICE_STRING, Kind.BACKEND_STRING, Kind.MODEL, Kind.LOSS, Kind.OPTIMIZER),
    *(Kind.SCHEDULER, Kind.LOADER, Kind.DATASET, Kind.ITERABLE_DATASET, Kind.SAMPLER),
)


class ProgramView:
    """The program model as placing sees it."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self._near = ProgramModel(model.project, Reach.IMPORTS, keep=None)
        self._near.files = model.files
        self._nodes: dict[FileModel, list[ast.AST]] = {}
        self._in_modules: dict[FileModel, set[ast.AST]] = {}

    # --- files ---

    def nodes(self, file: FileModel) -> list[ast.AST]:
        """All nodes of a file."""
        known = self._nodes.get(file)
        if known is None:
            file.source.visit(range(1, len(file.source.text.line_starts) + 1), lambda node: None)
            known = self._nodes[file] = list(ast.walk(file.source.tree))
        return known

    def in_module(self, node: ast.AST, file: FileModel) -> bool:
        """Whether a node belongs to a torch module's own code, which runs wherever the module is."""
        known = self._in_modules.get(file)
        if known is None:
            classes = [item for item in self.nodes(file) if isinstance(item, ast.ClassDef)]
            modules = [item for item in classes if self._near.kind_of_class(item, file) in MODELS]
            known = self._in_modules[file] = {item for module in modules for item in ast.walk(module)}
        return node in known

    # --- what expressions are ---

    def values(self, node: ast.expr, file: FileModel) -> Values:
        return self.model.values(node, file)

    def kind(self, node: ast.expr, file: FileModel) -> Kind | None:
        """``MODEL``, ``LOSS`` or ``LOADER`` where an expression surely is one that the program makes."""
        values = self.values(node, file)
        if not all(map(_is_made, values)):
            return None
        if values.only(Kind.LOSS) and not any(value.definition for value in values):
            return Kind.LOSS
        if values.only(*MODELS):
            return Kind.MODEL
        return Kind.LOADER if values.only(Kind.LOADER) else None

    def is_model(self, node: ast.expr, file: FileModel) -> bool:
        """Whether an expression is a model or a loss."""
        return self.kind(node, file) in MODELS

    def is_run(self, call: ast.Call, file: FileModel) -> bool:
        """Whether a call runs a model or loss: ``model(x)``, and ``model.forward(x)`` as well."""
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr == "forward":
            return self.is_model(function.value, file)
        return self.is_model(function, file)

    def is_tensor(self, node: ast.expr, file: FileModel) -> bool:
        return self.values(node, file).only(Kind.TENSOR)

    def is_no_tensor(self, values: Values) -> bool:
        """Whether values have nothing that moves with data: they are numbers, strings, models, loaders."""
        return values.only(*_NO_TENSORS) and all(map(_is_made, values))

    def is_batch(self, values: Values) -> bool:
        """Whether values are batches of loaders, or parts of them."""
        return values.only(Kind.BATCH)

    def name(self, node: ast.expr, file: FileModel) -> str:
        """The one dotted name that an expression denotes; empty for methods of objects, and where there are several."""
        sole = self.values(node, file).sole
        return sole.name if sole is not None and sole.kind in _NAMED and sole.of is None else ""

    # --- names ---

    def owner(self, name: str, node: ast.AST, file: FileModel) -> Scope:
        """The scope to which a name belongs where ``node`` stands."""
        scope = file.scope(node)
        found = scope.lookup(name)
        return found[0] if found is not None else scope.module

    def bounds(self, node: ast.Name, file: FileModel) -> list[Bound | ast.arg]:
        """What binds a name: assignments, loops and parameters of the file; imports and definitions do not count."""
        return self.bounds_in(node.id, self.owner(node.id, node, file), file)

    def bounds_in(self, name: str, scope: Scope, file: FileModel) -> list[Bound | ast.arg]:
        found: list[Bound | ast.arg] = []
        for binding in file.bindings(name, scope):
            bound = bound_by(binding, file)
            if bound is not None and bound.how != "declared":
                found.append(bound)
            elif binding.kind == "parameter" and isinstance(binding.node, ast.arg):
                found.append(binding.node)
        return found

    def parts(self, bound: Bound, file: FileModel) -> list[Expression]:
        """The expressions of the part that a target gets, of tuples that functions return; none where not shown."""
        source = bound.source
        if not bound.path or source is None or bound.how != "value":
            return []
        wholes: list[Expression] = [(file, source)]
        if isinstance(source, ast.Call):
            wholes = [
                (home, value)
                for home, function in self.surely_called(source, file)
                for value in returns(function, home)
                if isinstance(value, ast.Tuple)
            ]
        found = [(home, _part(whole, bound.path)) for home, whole in wholes]
        return [(home, part) for home, part in found if part is not None] if all(part for _, part in found) else []

    def gone_through(self, bound: Bound, file: FileModel) -> ast.expr | None:
        """What a loop takes its target from, behind ``enumerate``, ``zip`` and progress bars; None for numbers."""
        node, path = bound.source, bound.path
        while isinstance(node, ast.Call) and node.args:
            sole = self.values(node, file).sole
            if sole is None or sole.kind is not Kind.CONTAINER or sole.place != file.place(node):
                break
            if sole.name == "range" or (sole.name == "enumerate" and path[:1] == (0,)):
                return None
            if sole.name == "enumerate":
                node, path = node.args[0], path[1:]
            elif sole.name == "zip":
                index = path[0] if path else None
                if index is None or index >= len(node.args):
                    break
                node, path = node.args[index], path[1:]
            elif sole.name in ("map", "filter", "dict", "OrderedDict", "Counter"):
                break
            else:
                node = node.args[0]
        return node

    # --- functions ---

    def called(self, call: ast.Call, file: FileModel) -> list[tuple[FileModel, Definition]]:
        """The functions that a call may call, ``__init__`` of classes; none where it runs a model."""
        if self.is_run(call, file):
            return []
        return [(home, one) for home, one in self.model.callees(call, file) if isinstance(one, DEFINITIONS)]

    def plainly_called(self, file: FileModel) -> Iterator[tuple[FileModel, Definition]]:
        """The functions of other files that a file calls as its imports alone show, outside of modules."""
        for node in self.nodes(file):
            if isinstance(node, ast.Call) and not self.in_module(node, file):
                for home, one in self._near.callees(node, file):
                    if home is not file and isinstance(one, DEFINITIONS) and not self.in_module(one, home):
                        yield home, one

    def surely_called(self, call: ast.Call, file: FileModel) -> list[tuple[FileModel, Definition]]:
        """The functions of which a call surely calls one; none of classes."""
        if not self.values(call.func, file).only(Kind.FUNCTION):
            return []
        found = self.called(call, file)
        return found if all(one.name != "__init__" for _, one in found) else []

    def handed(self, call: ast.Call, file: FileModel) -> Iterator[tuple[ast.expr, ast.arg, FileModel, Definition]]:
        """The arguments of a call, with the parameters that get them."""
        if self.is_run(call, file):
            return
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        for function, home, taken in flows.callees(call, file, self.model):
            for value in values:
                arg = parameter_for(value, call, function, taken) if isinstance(function, DEFINITIONS) else None
                if arg is not None and isinstance(function, DEFINITIONS):
                    yield value, arg, home, function

    def passed(self, arg: ast.arg, file: FileModel) -> list[Expression]:
        """What calls pass for a parameter; none where no call is known, or not all are."""
        function = file.frame(arg)
        if not isinstance(function, FUNCTIONS):
            return []
        sites = self.model.callers(function, file)
        found: list[Expression] = []
        for site in sites:
            home = self.model.node(site.place, file)
            if site == UNKNOWN or home is None or not isinstance(home[1], ast.Call):
                return []
            args, keywords, filled = arguments_at(site, home[1])
            given = argument_for(arg.arg, function, args, keywords, filled)
            if given is Missing.NOT_SHOWN:
                return []
            if isinstance(given, ast.expr):
                found.append((home[0], given))
        return found

    def stores(self, node: ast.Attribute, file: FileModel) -> list[tuple[FileModel, Bound]]:
        """What assignments bind to an attribute; none where the object is not surely one of the project's."""
        owners = self.values(node.value, file)
        return self.model.assignments(node, file) if owners and all(owner.definition for owner in owners) else []

    def calls_of(self, function: Definition, file: FileModel) -> list[tuple[FileModel, ast.Call]]:
        return self.model.calls_of(function, file)


def _is_made(value: Value) -> bool:
    """Whether a value is no model that an annotation alone says, or a function that may give anything."""
    if value.kind not in MODELS:
        return True
    return value.place is not None and value.place != value.definition and value.name not in _NOT_SAID


def returns(function: Definition, file: FileModel) -> list[ast.expr]:
    """What a function returns, functions inside it left out."""
    file.look_into(function)
    return [node.value for node in inside(function) if isinstance(node, ast.Return) and node.value is not None]


def _part(node: ast.expr, path: tuple[int | None, ...]) -> ast.expr | None:
    """The part of a tuple or list that is written as one."""
    for index in path:
        if not isinstance(node, (ast.Tuple, ast.List)) or index is None or index >= len(node.elts):
            return None
        node = node.elts[index]
    return node
