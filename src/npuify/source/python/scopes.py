"""Scopes and what their names are bound to.

Only statements are walked, and only those of a scope that is asked for: most scopes of most files never are.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
ComprehensionNode = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
ScopeNode = (ast.Module, ast.ClassDef, *FunctionNode, *ComprehensionNode)


class Binding(NamedTuple):
    """One thing that gives a name its meaning.

    ``kind`` is ``import`` (``target`` is the qualified name), ``assign`` (``value`` is the expression), ``parameter``
    (``node`` is the ``ast.arg``, ``value`` its default), ``loop`` (``value`` is the iterable), ``function``, ``class``
    or ``other``.
    """

    kind: str
    node: ast.AST
    value: ast.expr | None = None
    target: str = ""


_HIDDEN = ast.Pass()


class Scope:
    """A module, class, function, lambda or comprehension, with its names bound lazily."""

    __slots__ = ("_names", "hidden", "module_name", "node", "outward", "parent", "star_imports")

    def __init__(self, node: ast.AST, parent: Scope | None, module_name: str) -> None:
        self.node = node
        self.parent = parent
        self.module_name = module_name
        self.star_imports: list[str] = []
        self.outward: set[str] = set()
        self.hidden: dict[str, list[str]] = {}
        """Functions and classes that the text has and the tree has not yet, with the kind of each of that name."""
        self._names: dict[str, list[Binding]] | None = None

    @property
    def names(self) -> dict[str, list[Binding]]:
        """Every name that this scope binds, with all its bindings in order of appearance."""
        if self._names is None:
            self._names = {}
            _Collector(self, self._names).collect()
            for name, kinds in self.hidden.items():
                self._names.setdefault(name, []).extend(Binding(kind, _HIDDEN) for kind in kinds)
        return self._names

    def reveal(self, statements: Iterable[ast.stmt]) -> None:
        """Statements that were hidden have been parsed: their bindings take the place of the stand-ins."""
        for statement in statements:
            name = getattr(statement, "name", "")
            if name not in self.hidden:
                continue
            kind = self.hidden[name].pop()
            if not self.hidden[name]:
                del self.hidden[name]
            if self._names is not None:
                bindings = self._names[name]
                stand_in = next(index for index, item in enumerate(bindings) if item.node is _HIDDEN)
                del bindings[stand_in]
                bindings.append(Binding(kind, statement))

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    def chain(self) -> Iterator[Scope]:
        """This scope and those around it, as Python looks names up: classes only count for their own statements."""
        yield self
        scope = self.parent
        while scope is not None:
            if not scope.is_class:
                yield scope
            scope = scope.parent

    def lookup(self, name: str) -> tuple[Scope, list[Binding]] | None:
        """The scope that ``name`` belongs to and its bindings there, or None for a builtin or unknown name."""
        for scope in self.chain():
            if name in scope.names and name not in scope.outward:
                return scope, scope.names[name]
        return None

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


def absolute_module(node: ast.ImportFrom, module_name: str, is_package: bool) -> str:
    """The full name of the module that ``from … import`` names, relative imports resolved."""
    if not node.level:
        return node.module or ""
    parts = module_name.split(".") if module_name else []
    keep = len(parts) - node.level + (1 if is_package else 0)
    base = parts[: max(keep, 0)]
    return ".".join([*base, node.module] if node.module else base)


def _functions_at(tree: ast.Module, lines: set[int]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions, outer ones first, that hold one of ``lines``; other statements are not looked into."""
    pending: list[ast.AST] = [tree]
    while pending:
        for child in ast.iter_child_nodes(pending.pop(0)):
            if isinstance(child, (ast.stmt, ast.ExceptHandler)):
                last = child.end_lineno or 0
                if any(child.lineno <= line <= last for line in lines):
                    pending.append(child)
                    if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        yield child
            elif isinstance(child, ast.match_case):
                pending.append(child)


class _Collector:
    def __init__(self, scope: Scope, names: dict[str, list[Binding]]) -> None:
        self.scope = scope
        self.names = names

    def bind(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(binding)

    def collect(self) -> None:
        node = self.scope.node
        if isinstance(node, FunctionNode):
            self.parameters(node.args)
            if isinstance(node, ast.Lambda):
                self.walruses(node.body)
            else:
                self.block(node.body)
        elif isinstance(node, (ast.Module, ast.ClassDef)):
            self.block(node.body)
            if isinstance(node, ast.Module):
                self.globals_of_functions(node)
        elif isinstance(node, ComprehensionNode):
            for generator in node.generators:
                self.target(generator.target, Binding("loop", generator.target, generator.iter))

    def globals_of_functions(self, tree: ast.Module) -> None:
        """Bind what functions bind to names that they declare ``global``."""
        lines: set[int] = getattr(tree, "global_lines", set())
        if not lines:
            return
        for node in _functions_at(tree, lines):
            inner = Scope(node, self.scope, self.scope.module_name)
            names = inner.names
            for name in sorted(inner.outward.intersection(names)):
                for binding in names[name]:
                    self.bind(name, binding)

    def parameters(self, args: ast.arguments) -> None:
        positional = [*args.posonlyargs, *args.args]
        padding: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
        for arg, default in zip(positional, [*padding, *args.defaults], strict=True):
            self.bind(arg.arg, Binding("parameter", arg, default))
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            self.bind(arg.arg, Binding("parameter", arg, default))
        for extra in (args.vararg, args.kwarg):
            if extra is not None:
                self.bind(extra.arg, Binding("other", extra))

    def target(self, target: ast.expr, binding: Binding) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, binding)
        elif isinstance(target, ast.Starred):
            self.target(target.value, Binding("other", target))
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = binding.value
            paired: Iterable[tuple[ast.expr, ast.expr | None]]
            if (
                binding.kind == "assign"
                and isinstance(values, (ast.Tuple, ast.List))
                and len(values.elts) == len(target.elts)
                and not any(isinstance(element, ast.Starred) for element in (*values.elts, *target.elts))
            ):
                paired = zip(target.elts, values.elts, strict=True)
            else:
                paired = ((element, None) for element in target.elts)
            for element, value in paired:
                self.target(element, Binding(binding.kind if value else "other", element, value))

    def walruses(self, node: ast.AST) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                self.target(child.target, Binding("assign", child, child.value))

    def walruses_of(self, statement: ast.stmt, lines: set[int]) -> None:
        """Bind what ``:=`` in a statement's own expressions binds; those in statements inside it are theirs."""
        if not any(statement.lineno <= line <= (statement.end_lineno or 0) for line in lines):
            return
        pending: list[ast.AST] = [statement]
        while pending:
            for child in ast.iter_child_nodes(pending.pop()):
                if isinstance(child, ast.NamedExpr):
                    self.target(child.target, Binding("assign", child, child.value))
                if not isinstance(child, (ast.stmt, ast.Lambda)):
                    pending.append(child)

    def block(self, body: Iterable[ast.stmt]) -> None:
        walrus_lines: set[int] = getattr(self.scope.module.node, "walrus_lines", set())
        for statement in body:
            if walrus_lines:
                self.walruses_of(statement, walrus_lines)
            handler = _HANDLERS.get(type(statement))
            if handler is not None:
                handler(self, statement)

    def on_Import(self, node: ast.Import) -> None:  # noqa: N802
        for alias in node.names:
            if alias.asname:
                self.bind(alias.asname, Binding("import", alias, target=alias.name))
            else:
                top = alias.name.partition(".")[0]
                self.bind(top, Binding("import", alias, target=top))

    def on_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: N802
        module_node = self.scope.module.node
        is_package = bool(getattr(module_node, "is_package", False))
        module = absolute_module(node, self.scope.module_name, is_package)
        for alias in node.names:
            if alias.name == "*":
                self.scope.star_imports.append(module)
            else:
                qualified = f"{module}.{alias.name}" if module else alias.name
                if node.level and (qualified == "torch" or qualified.startswith("torch.")):
                    # The project's own module of that name; a relative import never reaches the library.
                    qualified = f".{qualified}"
                self.bind(alias.asname or alias.name, Binding("import", alias, target=qualified))

    def on_Assign(self, node: ast.Assign) -> None:  # noqa: N802
        for target in node.targets:
            self.target(target, Binding("assign", node, node.value))

    def on_AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802
        if node.value is not None:
            self.target(node.target, Binding("assign", node, node.value))
        elif isinstance(node.target, ast.Name):
            self.bind(node.target.id, Binding("other", node))

    def on_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        self.target(node.target, Binding("other", node))

    def on_For(self, node: ast.For | ast.AsyncFor) -> None:  # noqa: N802
        self.target(node.target, Binding("loop", node, node.iter))
        self.block(node.body)
        self.block(node.orelse)

    on_AsyncFor = on_For  # noqa: N815

    def on_While(self, node: ast.While) -> None:  # noqa: N802
        self.block(node.body)
        self.block(node.orelse)

    def on_If(self, node: ast.If) -> None:  # noqa: N802
        self.block(node.body)
        # A long row of elif is deeply nested for Python, so it is followed in a loop.
        walrus_lines: set[int] = getattr(self.scope.module.node, "walrus_lines", set())
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            if walrus_lines:
                self.walruses_of(node, walrus_lines)
            self.block(node.body)
        self.block(node.orelse)

    def on_With(self, node: ast.With | ast.AsyncWith) -> None:  # noqa: N802
        for item in node.items:
            if item.optional_vars is not None:
                self.target(item.optional_vars, Binding("other", item.optional_vars))
        self.block(node.body)

    on_AsyncWith = on_With  # noqa: N815

    def on_Try(self, node: ast.Try) -> None:  # noqa: N802
        self.block(node.body)
        for handler in node.handlers:
            if handler.name:
                self.bind(handler.name, Binding("other", handler))
            self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    on_TryStar = on_Try  # noqa: N815

    def on_Match(self, node: ast.Match) -> None:  # noqa: N802
        for case in node.cases:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if name:
                    self.bind(name, Binding("other", pattern))
            self.block(case.body)

    def on_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:  # noqa: N802
        self.bind(node.name, Binding("function", node))

    on_AsyncFunctionDef = on_FunctionDef  # noqa: N815

    def on_ClassDef(self, node: ast.ClassDef) -> None:  # noqa: N802
        self.bind(node.name, Binding("class", node))

    def on_Global(self, node: ast.Global | ast.Nonlocal) -> None:  # noqa: N802
        self.scope.outward.update(node.names)

    on_Nonlocal = on_Global  # noqa: N815


_HANDLERS: dict[type[ast.AST], Callable[[_Collector, Any], None]] = {
    getattr(ast, name[3:]): method
    for name, method in vars(_Collector).items()
    if name.startswith("on_") and hasattr(ast, name[3:])
}
"""What each kind of statement binds."""
