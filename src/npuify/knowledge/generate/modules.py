"""What a module's namespace holds once it was imported, read from its syntax tree alone.

Both branches of a condition are read, because which one runs depends on the build; a name that only a function's body
binds is not a name of the module. Names made in C++ appear where Python code of the packages mentions them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .wheel import Wheel

Callable = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Binding:
    """What one name of a module stands for."""

    kind: Literal["function", "class", "module", "from", "value", "native"]
    module: str = ""
    """For ``module`` and ``from``: the module meant."""
    name: str = ""
    node: ast.AST | None = None


@dataclass
class Namespace:
    """The names of one module, in the order in which they appear."""

    module: str
    names: dict[str, Binding] = field(default_factory=dict)
    all: tuple[str, ...] | None = None
    instance_of: ast.expr | None = None
    """The class that replaces the module in ``sys.modules``, if one does."""
    lazy: tuple[str, ...] = ()
    """Names that the module's own ``__getattr__`` answers to."""


class Reader:
    """Reads modules of the given wheels; the first wheel that has a module counts."""

    def __init__(self, wheels: Sequence[Wheel]) -> None:
        self._wheels = wheels
        self._namespaces: dict[str, Namespace] = {}
        self._added: dict[str, dict[str, Binding]] = {}

    def wheel_of(self, module: str) -> Wheel | None:
        """The wheel that holds ``module``."""
        return next((w for w in self._wheels if w.has_module(module)), None)

    def exists(self, module: str) -> bool:
        """Whether ``module`` is a Python module of the wheels."""
        return self.wheel_of(module) is not None

    def tree(self, module: str) -> ast.Module | None:
        """The module's syntax tree."""
        wheel = self.wheel_of(module)
        return wheel.tree(module) if wheel else None

    def add(self, module: str, name: str, binding: Binding) -> None:
        """Record that code elsewhere sets ``module.name``; what the module itself binds comes first."""
        self._added.setdefault(module, {}).setdefault(name, binding)

    def namespace(self, module: str) -> Namespace:
        """The names that ``module`` binds."""
        known = self._namespaces.get(module)
        if known is None:
            known = self._namespaces[module] = Namespace(module)
            tree = self.tree(module)
            if tree is not None:
                _Walker(self, known).walk(tree.body, conditional=False)
        return known

    def lookup(self, module: str, name: str) -> Binding | None:
        """The binding of ``module.name``, or a submodule of that name."""
        binding = self.namespace(module).names.get(name) or self._added.get(module, {}).get(name)
        if binding is None and self.exists(f"{module}.{name}"):
            binding = Binding("module", f"{module}.{name}")
        return binding

    def added(self, module: str) -> dict[str, Binding]:
        """Names that other modules set on ``module``."""
        return self._added.get(module, {})

    def resolve(self, module: str, name: str) -> tuple[str, str, Binding]:
        """Follow imports from ``module.name`` to where it is defined: module, name there, and the binding.

        What leads out of the wheels ends as a ``native`` binding.
        """
        seen = set()
        while (module, name) not in seen:
            seen.add((module, name))
            binding = self.lookup(module, name)
            if binding is None:
                return module, name, Binding("native")
            if binding.kind == "from":
                if not self.exists(binding.module):
                    return binding.module, binding.name, Binding("native")
                module, name = binding.module, binding.name
                continue
            node = binding.node
            if binding.kind == "value" and isinstance(node, (ast.Name, ast.Attribute)) and dotted(node) != name:
                target = self.resolve_expression(module, node)
                if target is not None:
                    return target
            return module, name, binding
        return module, name, Binding("native")

    def resolve_expression(self, module: str, node: ast.expr) -> tuple[str, str, Binding] | None:
        """What the dotted ``node`` means in ``module``; None where that cannot be read."""
        if isinstance(node, ast.Name):
            if self.lookup(module, node.id) is None:
                return None
            return self.resolve(module, node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve_expression(module, node.value)
            if base is None:
                return None
            where, name, binding = base
            if binding.kind == "module":
                return self.resolve(binding.module, node.attr)
            if binding.kind == "native":
                return (f"{where}.{name}", node.attr, Binding("native"))
        return None


class _Walker:
    def __init__(self, reader: Reader, namespace: Namespace) -> None:
        self.reader = reader
        self.out = namespace
        wheel = reader.wheel_of(namespace.module)
        self.package = (
            namespace.module
            if wheel is not None and wheel.is_package(namespace.module)
            else namespace.module.rpartition(".")[0]
        )

    def bind(self, name: str, binding: Binding, conditional: bool) -> None:
        known = self.out.names.get(name)
        if conditional and known is not None and known.kind != "value" and binding.kind in ("value", "native"):
            return  # the fallback of an optional import or of an alternative build
        self.out.names.pop(name, None)
        self.out.names[name] = binding

    def walk(self, body: Iterable[ast.stmt], *, conditional: bool) -> None:
        for node in body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    target = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.bind(alias.asname or target, Binding("module", target), conditional)
            elif isinstance(node, ast.ImportFrom):
                self.import_from(node, conditional)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if node.name == "__getattr__":
                    self.out.lazy = tuple(names_compared(node))
                self.bind(node.name, Binding("function", node=node), conditional)
            elif isinstance(node, ast.ClassDef):
                self.bind(node.name, Binding("class", node=node), conditional)
            elif isinstance(node, ast.Assign):
                for target_node in node.targets:
                    self.assign(target_node, node.value, conditional)
            elif isinstance(node, ast.AnnAssign):
                if node.value is not None:
                    self.assign(node.target, node.value, conditional)
            elif isinstance(node, ast.AugAssign):
                if isinstance(node.target, ast.Name) and node.target.id == "__all__":
                    self.out.all = (*(self.out.all or ()), *strings(node.value))
            elif isinstance(node, ast.Delete):
                for deleted in node.targets:
                    if isinstance(deleted, ast.Name):
                        self.out.names.pop(deleted.id, None)
            elif isinstance(node, ast.If):
                if not is_type_checking(node.test):
                    self.walk(node.body, conditional=True)
                self.walk(node.orelse, conditional=True)
            elif isinstance(node, ast.Try):
                self.walk(node.body, conditional=conditional)
                for handler in node.handlers:
                    self.walk(handler.body, conditional=True)
                self.walk(node.orelse, conditional=conditional)
                self.walk(node.finalbody, conditional=conditional)
            elif isinstance(node, (ast.With, ast.For, ast.While)):
                self.walk(node.body, conditional=True)

    def assign(self, target: ast.expr, value: ast.expr, conditional: bool) -> None:
        if isinstance(target, ast.Name):
            if target.id == "__all__":
                self.out.all = tuple(strings(value))
                return
            if isinstance(value, ast.Name) and value.id in self.out.names and value.id != target.id:
                self.bind(target.id, self.out.names[value.id], conditional)
                if self.out.names[value.id].kind in ("function", "class"):
                    self.out.names[target.id] = Binding("from", self.out.module, value.id)
                return
            self.bind(target.id, Binding("value", node=value), conditional)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                if isinstance(element, ast.Name):
                    self.bind(element.id, Binding("value"), conditional)
        elif ast.unparse(target) == "sys.modules[__name__]" and isinstance(value, ast.Call):
            self.out.instance_of = value.func

    def import_from(self, node: ast.ImportFrom, conditional: bool) -> None:
        module = absolute(node, self.package)
        for alias in node.names:
            if alias.name == "*":
                if self.reader.exists(module):
                    for name in self.star(module):
                        self.bind(name, Binding("from", module, name), conditional)
                continue
            name = alias.asname or alias.name
            binding = Binding("from", module, alias.name)
            if self.reader.exists(f"{module}.{alias.name}") and module == self.out.module:
                binding = Binding("module", f"{module}.{alias.name}")
            self.bind(name, binding, conditional)

    def star(self, module: str) -> list[str]:
        namespace = self.reader.namespace(module)
        if namespace.all is not None:
            return [name for name in namespace.all if name in namespace.names]
        return [name for name in namespace.names if not name.startswith("_")]


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that ``from … import`` names, where relative imports count from ``package``."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base


def is_type_checking(test: ast.expr) -> bool:
    """Whether ``test`` is ``TYPE_CHECKING``, which is false at run time."""
    return (dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING"


def asks_environment(test: ast.expr) -> bool:
    """Whether ``test`` depends on an environment variable: what it guards is not there by default."""
    return any(name in ast.unparse(test) for name in ("environ", "getenv"))


def dotted(node: ast.AST | None) -> str | None:
    """``a.b.c`` for a chain of attributes that starts with a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def strings(node: ast.AST) -> list[str]:
    """The string constants below ``node``, in order."""
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def assigned_names(tree: ast.AST, root: str) -> Iterator[tuple[str, ast.expr]]:
    """Every ``root.x.y = value`` and ``setattr(root.x, "y", value)``, as dotted name and value, at whatever depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) == "setattr" and len(node.args) == 3:
            owner, attribute = dotted(node.args[0]), node.args[1]
            name = attribute.value if isinstance(attribute, ast.Constant) else None
            if owner and isinstance(name, str) and f"{owner}.".startswith(root + "."):
                yield f"{owner}.{name}", node.args[2]
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            assigned = dotted(target)
            if assigned is not None and assigned.startswith(root + "."):
                yield assigned, node.value


def names_compared(function: Callable) -> list[str]:
    """The names that a ``__getattr__`` or ``__setattr__`` compares its argument with."""
    parameters = {a.arg for a in function.args.args}
    found: list[str] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id in parameters:
            found += [s for c in node.comparators for s in strings(c)]
    return sorted({name for name in found if name.isidentifier()})


def import_closure(reader: Reader, roots: Sequence[str], follow_functions: Sequence[str] = ()) -> set[str]:
    """Every module of the first root's distribution that importing ``roots`` loads.

    Imports inside functions count only in modules whose name starts with one of ``follow_functions``.
    """
    top = roots[0].partition(".")[0]
    seen: set[str] = set()
    queue = list(roots)
    while queue:
        module = queue.pop()
        parts = module.split(".")
        for i in range(1, len(parts) + 1):
            parent = ".".join(parts[:i])
            if parent not in seen and reader.exists(parent):
                seen.add(parent)
                queue.extend(_loads(reader, parent, top, follow_functions))
    return seen


def _loads(reader: Reader, module: str, top: str, follow_functions: Sequence[str]) -> Iterator[str]:
    tree = reader.tree(module)
    wheel = reader.wheel_of(module)
    if tree is None or wheel is None:
        return
    package = module if wheel.is_package(module) else module.rpartition(".")[0]
    inside = any(module == f or module.startswith(f + ".") for f in follow_functions)
    inside = inside and not module.endswith(".optional_features")  # switched on by environment variables
    for node in walk_executed(tree.body, inside):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, package)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and (dotted(node.func) or "").endswith("import_module"):
            names = strings(node)[:1]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == top and reader.exists(name):
                yield name


def walk_executed(body: Sequence[ast.stmt], functions: bool) -> Iterator[ast.AST]:
    """The nodes that importing a module runs; with ``functions``, those in function bodies as well."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and not functions:
            continue
        if isinstance(node, ast.If) and (is_type_checking(node.test) or asks_environment(node.test)):
            stack.extend(reversed(node.orelse))
            continue
        stack.extend(reversed(list(ast.iter_child_nodes(node))))
