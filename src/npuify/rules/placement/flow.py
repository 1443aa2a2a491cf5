"""Where models, data and results of a program come from: the data flow that placing it on a device needs.

Names are followed through assignments, loops and calls, within the file and into the project's other files and back
(:mod:`npuify.rules.placement.links`). Nothing is told by what a variable is called. What cannot be followed raises
:class:`Unproven`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.source.python import PythonSource

Kind = Literal["model", "loss", "loader"]
Function = ast.FunctionDef | ast.AsyncFunctionDef
_HOPS = 10
_SAME_OBJECT = frozenset(
    "to eval train float half double bfloat16 requires_grad_ cpu compile apply share_memory".split()
)
_WRAPPERS = ("torch.compile", "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel")
_LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_PASSING = frozenset(("enumerate", "tqdm", "trange", "iter", "list", "reversed", "track"))
"""Functions that hand the elements of their first argument on."""


class Unproven(Exception):
    """What has to be on the device cannot be followed to where it is made."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.flow: Flow | None = None
        """The flow of the file that ``node`` stands in, once it is known."""


class Bound(NamedTuple):
    """One binding of a name in a function or module.

    ``how`` is ``value`` (``node`` is the expression), ``part`` (of the expression ``node``, at ``path``), ``element``
    (of what the loop ``statement`` goes through, at ``path``), ``parameter``, ``added`` (by ``+=``) or ``other``.
    """

    how: str
    node: ast.AST
    statement: ast.AST
    path: tuple[int, ...] = ()


Place = tuple["Flow", ast.expr]
"""An expression, with the flow of the file that it stands in."""


class OtherFiles(Protocol):
    """The flows of the project's other files."""

    def flow(self, relative: str) -> Flow | None:
        """What the names of a file are bound to; None where it cannot be parsed."""

    def far_callers(self, flow: Flow, function: Function) -> list[tuple[Flow, list[ast.Call]]]:
        """The calls of a function from other files than its own."""


class Flow:
    """The functions of one file, and what their names are bound to."""

    def __init__(self, file: PythonFile, links: OtherFiles | None = None) -> None:
        self.file = file
        self.links = links
        """The flows of the project's other files; None where the file is looked at alone."""
        self.source: PythonSource = file.source
        self.source.visit(range(1, len(file.source.text.line_starts) + 1), lambda node: None)
        self.nodes = list(ast.walk(self.source.tree))
        self._bindings: dict[ast.AST, dict[str, list[Bound]]] = {}
        self._kinds: dict[ast.AST, Kind | None] = {}
        self._calls: dict[ast.AST, list[ast.Call]] | None = None
        self._far_calls: dict[tuple[str, int], list[ast.Call]] | None = None

    # --- frames ---

    def frame(self, node: ast.AST) -> ast.AST:
        """The function around a node, or the module."""
        for up in self.file.ancestors(node):
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
                return up
        return self.source.tree

    def lookup(self, name: str, node: ast.AST) -> list[Bound]:
        """The bindings of a name as code at ``node`` sees it; empty where the file does not bind it."""
        frame = self.frame(node)
        while True:
            found = self.bindings(frame).get(name)
            if found:
                return found
            if isinstance(frame, ast.Module):
                return []
            frame = self.frame(frame)

    def bindings(self, frame: ast.AST) -> dict[str, list[Bound]]:
        """What a function or module binds, without what functions inside it do."""
        known = self._bindings.get(frame)
        if known is None:
            known = self._bindings[frame] = {}
            if isinstance(frame, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                arguments = frame.args
                for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                    known.setdefault(arg.arg, []).append(Bound("parameter", arg, frame))
            for node in _inside(frame):
                for name, bound in _bound_by(node):
                    known.setdefault(name, []).append(bound)
        return known

    # --- kinds ---

    def kind(self, node: ast.AST, hops: int = _HOPS) -> Kind | None:
        """Whether an expression is a model, a loss or a loader of batches; None where that is not known."""
        if node in self._kinds:
            return self._kinds[node]
        self._kinds[node] = None
        answer = self._kind(node, hops) if hops > 0 else None
        self._kinds[node] = answer
        return answer

    def _kind(self, node: ast.AST, hops: int) -> Kind | None:
        if isinstance(node, ast.Call):
            return self._kind_of_call(node, hops)
        if isinstance(node, ast.Name):
            kinds = {
                self._kind_of_bound(bound, hops) for bound in self.lookup(node.id, node) if not _is_none(bound.node)
            }
            return kinds.pop() if len(kinds) == 1 else None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            values = [value for value in self.assigned_to_self(node) if not _is_none(value)]
            kinds = {self.kind(value, hops - 1) for value in values}
            return kinds.pop() if len(kinds) == 1 else None
        if isinstance(node, ast.IfExp):
            kinds = {self.kind(side, hops - 1) for side in (node.body, node.orelse)}
            return kinds.pop() if len(kinds) == 1 else None
        return None

    def _kind_of_bound(self, bound: Bound, hops: int) -> Kind | None:
        if bound.how == "value":
            return self.kind(bound.node, hops - 1)
        if bound.how == "part":
            part = self.part(bound)
            return part[0].kind(part[1], hops - 1) if part is not None else None
        if bound.how == "parameter":
            given = {flow.kind(value, hops - 1) for flow, value in self.passed(bound)}
            return given.pop() if len(given) == 1 else None
        return None

    def part(self, bound: Bound) -> Place | None:
        """The expression of one element of what is unpacked: of a tuple, or of what a function returns."""
        flow, node = self, bound.node
        if isinstance(node, ast.Call):
            called = self.target(node)
            returned = [item for item in returns(called[1]) if isinstance(item, ast.Tuple)] if called else []
            if called is None or len(returned) != 1:
                return None
            flow, node = called[0], returned[0]
        for index in bound.path:
            if not isinstance(node, (ast.Tuple, ast.List)) or index >= len(node.elts):
                return None
            node = node.elts[index]
        return (flow, node) if isinstance(node, ast.expr) else None

    def _kind_of_call(self, node: ast.Call, hops: int) -> Kind | None:
        name = self.file.qualname(node.func) or ""
        if name in _LOADERS:
            return "loader"
        if name in _WRAPPERS:
            return self.kind(node.args[0], hops - 1) if node.args else None
        if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
            return "loss" if name.endswith("Loss") else None if name.endswith("Parameter") else "model"
        if name.startswith(("torchvision.models.", "timm.create_model")):
            return "model"
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_OBJECT:
            return self.kind(node.func.value, hops - 1)
        called = self.target(node)
        if called is not None and called[1].name != "__init__":
            kinds = {called[0].kind(item, hops - 1) for item in returns(called[1])}
            kind = kinds.pop() if len(kinds) == 1 else None
            if kind is not None or called[0] is self:
                return kind
        definition = self.definition(node, name)
        if isinstance(definition, ast.ClassDef):
            return "model" if self.is_module(definition, name) else None
        if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self._kind_elsewhere(name, definition)
        return None

    def target(self, node: ast.Call) -> tuple[Flow, Function] | None:
        """The function that a call calls, in this file or another; of a class, the ``__init__`` that it has."""
        own = self.function(node)
        if own is not None:
            return self, own
        if self.links is None:
            return None
        if isinstance(node.func, ast.Attribute):
            for made in self._made_by(node.func.value):
                found = self.class_of(made)
                method = _method_of(found[1], node.func.attr) if found is not None else None
                if found is not None and method is not None:
                    return found[0], method
        held = self._held(node.func)
        if held is None:
            return None
        flow, definition = held
        if isinstance(definition, ast.ClassDef):
            method = _method_of(definition, "__init__")
            return (flow, method) if method is not None else None
        return (flow, definition) if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def class_of(self, node: ast.expr) -> tuple[Flow, ast.ClassDef] | None:
        """The class of the project of which a call makes an object."""
        held = self._held(node.func) if isinstance(node, ast.Call) else None
        return (held[0], held[1]) if held is not None and isinstance(held[1], ast.ClassDef) else None

    def _made_by(self, node: ast.expr) -> list[ast.expr]:
        """The expressions that an object's name, or an attribute of ``self``, is assigned."""
        if isinstance(node, ast.Name):
            return [
                bound.node
                for bound in self.lookup(node.id, node)
                if bound.how == "value" and isinstance(bound.node, ast.expr)
            ]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return self.assigned_to_self(node)
        return [node] if isinstance(node, ast.Call) else []

    def _held(self, node: ast.expr) -> tuple[Flow, ast.AST] | None:
        """The definition that a name stands for, in this file or in another of the project."""
        if isinstance(node, ast.Name):
            own = self.source.definition(node.id)
            if own is not None:
                return self, own
        name = self.file.qualname(node) or ""
        module, _, last = name.rpartition(".")
        relative = self.file.project.file_of(module) if module else None
        if relative is None or self.links is None or relative == self.source.relative:
            return None
        flow = self.links.flow(relative)
        definition = flow.source.definition(last) if flow is not None else None
        return (flow, definition) if flow is not None and definition is not None else None

    def definition(self, node: ast.Call, name: str) -> ast.AST | None:
        """The function or class of the project that a call calls."""
        if isinstance(node.func, ast.Name):
            own = self.source.definition(node.func.id)
            if own is not None:
                return own
        return self.file.project.definition(name) if name else None

    def function(self, node: ast.Call) -> Function | None:
        """The function of this file that a call calls, also as a method of ``self``."""
        if isinstance(node.func, ast.Name):
            found = self.lookup(node.func.id, node)
            if found:
                return None
            own = self.source.definition(node.func.id)
            return own if isinstance(own, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
        if (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "self"
        ):
            holder = self.class_around(node)
            for item in holder.body if holder is not None else ():
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name == node.func.attr:
                    return item
        return None

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        return next((up for up in self.file.ancestors(node) if isinstance(up, ast.ClassDef)), None)

    def in_module_class(self, node: ast.AST) -> bool:
        """Whether a node belongs to a torch module's own code, which runs wherever the module is."""
        return any(
            isinstance(up, ast.ClassDef) and self.is_module(up, f"{self.source.module}.{up.name}")
            for up in (node, *self.file.ancestors(node))
        )

    def is_module(self, definition: ast.ClassDef, name: str, hops: int = 6) -> bool:
        """Whether a class of the project derives from torch.nn.Module."""
        source = self.source if definition in self.source.tree.body else None
        if source is None:
            relative = self.file.project.file_of(name.rpartition(".")[0])
            source = self.file.project.load(relative) if relative is not None else None
        if source is None or hops == 0:
            return False
        for base in definition.bases:
            named = source.qualname(base, source.scope) or ""
            if named.startswith("torch.nn.") and not named.endswith("Parameter"):
                return True
            if named in (f"{source.module}.{getattr(base, 'id', '')}", getattr(base, "id", "")):
                other = source.definition(getattr(base, "id", ""))
            else:
                other = self.file.project.definition(named) if named else None
            if isinstance(other, ast.ClassDef) and other is not definition and self.is_module(other, named, hops - 1):
                return True
        return False

    def _kind_elsewhere(self, name: str, definition: Function) -> Kind | None:
        """What a function of another file returns: by its annotation, or by the call that it returns."""
        relative = self.file.project.file_of(name.rpartition(".")[0])
        source = self.file.project.load(relative) if relative is not None else None
        if source is None:
            return None
        if definition.returns is not None:
            said = source.qualname(definition.returns, source.scope) or ""
            if said in _LOADERS:
                return "loader"
            if said in ("torch.nn.Module", "torch.nn.modules.module.Module"):
                return "model"
        kinds = set[Kind | None]()
        for item in returns(definition):
            called = source.qualname(item.func, source.scope) if isinstance(item, ast.Call) else None
            made = self.file.project.definition(called) if called else None
            if called in _LOADERS:
                kinds.add("loader")
            elif isinstance(made, ast.ClassDef) and self.is_module(made, called or ""):
                kinds.add("model")
            else:
                kinds.add(None)
        return kinds.pop() if len(kinds) == 1 else None

    # --- calls ---

    def passed(self, bound: Bound) -> list[Place]:
        """What calls in the whole project pass for a parameter, each with the flow of its file.

        Empty where no call is known, or one of them cannot be read.
        """
        function, arg = bound.statement, bound.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not isinstance(arg, ast.arg):
            return []
        names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
        if names[:1] == ["self"] and self.class_around(function) is not None:
            names = names[1:]
        found: list[Place] = []
        for flow, calls in self.callers(function):
            values = _arguments(calls, names, arg)
            if values is None:
                return []
            found += [(flow, value) for value in values]
        return found

    def callers(self, function: Function) -> list[tuple[Flow, list[ast.Call]]]:
        """The calls of a function, file by file, this file first."""
        found = [(self, self.calls_of(function))]
        if self.links is not None:
            found += self.links.far_callers(self, function)
        return found

    def far_calls(self, relative: str, line: int) -> list[ast.Call]:
        """The calls in this file of the function of another file that begins on a line."""
        if self._far_calls is None:
            self._far_calls = {}
            for node in self.nodes:
                called = self.target(node) if isinstance(node, ast.Call) else None
                if called is not None and called[0] is not self and isinstance(node, ast.Call):
                    key = (called[0].source.relative, called[1].lineno)
                    self._far_calls.setdefault(key, []).append(node)
        return self._far_calls.get((relative, line), [])

    def calls_of(self, function: ast.AST) -> list[ast.Call]:
        """The calls of a function, or (of ``__init__``) of its class, in this file."""
        if self._calls is None:
            self._calls = {}
            for node in self.nodes:
                if not isinstance(node, ast.Call):
                    continue
                target: ast.AST | None = self.function(node)
                if target is None and isinstance(node.func, ast.Name):
                    made = self.source.definition(node.func.id)
                    if isinstance(made, ast.ClassDef):
                        target = next(
                            (
                                item
                                for item in made.body
                                if isinstance(item, ast.FunctionDef) and item.name == "__init__"
                            ),
                            None,
                        )
                if target is None and isinstance(node.func, ast.Attribute):
                    target = self._method(node.func)
                if target is not None:
                    self._calls.setdefault(target, []).append(node)
        return self._calls.get(function, [])

    def _method(self, function: ast.Attribute) -> ast.AST | None:
        """The method that ``trainer.fit`` is, where ``trainer`` is made by a class of this file."""
        if not isinstance(function.value, ast.Name):
            return None
        values = [bound.node for bound in self.lookup(function.value.id, function) if bound.how == "value"]
        if len(values) != 1 or not isinstance(values[0], ast.Call) or not isinstance(values[0].func, ast.Name):
            return None
        made = self.source.definition(values[0].func.id)
        if not isinstance(made, ast.ClassDef):
            return None
        return next(
            (item for item in made.body if isinstance(item, ast.FunctionDef) and item.name == function.attr), None
        )

    def assigned_to_self(self, node: ast.Attribute) -> list[ast.expr]:
        """What the class around assigns to ``self.name``."""
        holder = self.class_around(node)
        found = []
        for item in ast.walk(holder) if holder is not None else ():
            if isinstance(item, ast.Assign):
                for target in item.targets:
                    found += [value for one, value in _pairs(target, item.value) if _is_own(one, node.attr)]
        return found

    # --- loops ---

    def loop_over(self, node: ast.expr) -> tuple[ast.expr, tuple[int, ...]]:
        """What a loop goes through behind ``enumerate`` and progress bars, and where its elements then stand."""
        path: tuple[int, ...] = ()
        while isinstance(node, ast.Call) and node.args:
            word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if word not in _PASSING or self.kind(node) == "loader":
                break
            path = (1,) if word == "enumerate" else path
            node = node.args[0]
        return node, path

    def is_tensor(self, node: ast.AST) -> bool:
        """Whether an expression is known to be a tensor."""
        return isinstance(node, ast.expr) and self.file.is_tensor(node)


def returns(function: Function) -> list[ast.expr]:
    """What a function returns, functions inside it left out."""
    return [node.value for node in _inside(function) if isinstance(node, ast.Return) and node.value is not None]


def _inside(frame: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module in their order, without those of functions and classes inside it."""
    pending = list(reversed(list(ast.iter_child_nodes(frame))))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            pending += reversed(list(ast.iter_child_nodes(node)))


def _bound_by(node: ast.AST) -> Iterator[tuple[str, Bound]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, "value", node.value, node, ())
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        if node.value is not None:
            yield from _targets(node.target, "value", node.value, node, ())
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, Bound("added", node.value, node)
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield from _targets(node.target, "element", node.iter, node, ())
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _targets(node.optional_vars, "other", node.context_expr, node, ())


def _targets(
    target: ast.expr, how: str, value: ast.AST, statement: ast.AST, path: tuple[int, ...]
) -> Iterator[tuple[str, Bound]]:
    if isinstance(target, ast.Name):
        yield target.id, Bound("part" if how == "value" and path else how, value, statement, path)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for index, element in enumerate(target.elts):
            if isinstance(element, ast.Starred):
                yield from _targets(element.value, "other", value, statement, ())
            else:
                yield from _targets(element, how, value, statement, (*path, index))


def _arguments(calls: list[ast.Call], names: list[str], arg: ast.arg) -> list[ast.expr] | None:
    """What calls pass for a parameter; None where one cannot be read."""
    found = []
    for call in calls:
        if any(isinstance(item, ast.Starred) for item in call.args) or any(k.arg is None for k in call.keywords):
            return None
        value = next((item.value for item in call.keywords if item.arg == arg.arg), None)
        position = names.index(arg.arg) if arg.arg in names else len(call.args)
        if value is None and position < len(call.args):
            value = call.args[position]
        if value is not None:
            found.append(value)
    return found


def _method_of(holder: ast.ClassDef, name: str) -> Function | None:
    for item in holder.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name == name:
            return item
    return None


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment assigns to what, tuples taken apart."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        if len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                yield from _pairs(one, other)
            return
    yield target, value


def _is_own(node: ast.expr, name: str) -> bool:
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return own and isinstance(node, ast.Attribute) and node.attr == name


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
