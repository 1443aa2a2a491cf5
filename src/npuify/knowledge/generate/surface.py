"""From namespaces to the compact specs that a release file stores.

A spec is a letter for the kind — ``M`` module, ``c`` class, ``f`` function, ``m`` method, ``p`` property, ``v`` value,
``t`` legacy tensor type, ``n`` made in C++ — followed by the parameters in brackets where they can be read, without
annotations. ``=module.name`` stands for the same object as another entry.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from .modules import Binding, Reader, assigned_names, dotted, names_compared

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_TENSOR_TYPE = re.compile(r"[A-Z][A-Za-z0-9]*Tensor")
_LONGEST_DEFAULT = 40
_INHERIT_FROM = ("torch_npu", "torch.cuda", "torch.amp", "torch.accelerator", "torch.backends")
"""Members are inherited from classes of these packages only: those of Tensor, Module or Optimizer tell nothing here."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def surface(
    reader: Reader,
    modules: Collection[str],
    *,
    loaded: Collection[str],
    private: Callable[[str], bool],
    stubs: dict[str, ast.ClassDef],
) -> dict[str, dict[str, str]]:
    """The names of each of ``modules``.

    ``loaded``: modules that are attributes of their package. ``private``: says for which modules names with a leading
    underscore count. ``stubs``: classes made in C++ that a ``.pyi`` file describes, by name.
    """
    maker = _Maker(reader, frozenset(modules), frozenset(loaded), private, stubs)
    return {module: maker.module(module) for module in sorted(modules)}


class _Maker:
    def __init__(
        self,
        reader: Reader,
        modules: frozenset[str],
        loaded: frozenset[str],
        private: Callable[[str], bool],
        stubs: dict[str, ast.ClassDef],
    ) -> None:
        self.reader, self.modules, self.loaded, self.private, self.stubs = reader, modules, loaded, private, stubs
        self.placed: dict[tuple[str, str], str] = {}
        self.listed = {module: self.find(module) for module in modules}

    def find(self, module: str) -> dict[str, tuple[str, str, Binding]]:
        """The names of ``module`` that are worth keeping, each with where it is defined."""
        namespace = self.reader.namespace(module)
        exported = set(namespace.all or ())
        found: dict[str, tuple[str, str, Binding]] = {}
        for submodule in self.loaded:
            parent, _, name = submodule.rpartition(".")
            if parent == module:
                found[name] = (submodule, "", Binding("module", submodule))
        for name in [*namespace.names, *self.reader.added(module), *namespace.lazy]:
            if name.startswith("__") or (name.startswith("_") and name not in exported and not self.private(module)):
                continue
            where, original, binding = self.reader.resolve(module, name)
            if binding.kind == "module":
                if not self.reader.exists(binding.module) or binding.module.partition(".")[0] != top(module):
                    continue
                if binding.module not in self.loaded and binding.module not in self.modules:
                    continue
                if "." not in binding.module or (where != module and name not in exported):
                    continue
            elif binding.kind == "native":
                if not where.startswith((f"{top(module)}._C", f"{module}")) and name not in exported:
                    continue
            elif name not in exported and not self.is_near(module, where):
                continue
            if binding.kind == "value" and name.startswith("_") and name not in exported:
                continue
            found[name] = (where, original, binding)
        for name in exported - set(found):
            if _TENSOR_TYPE.fullmatch(name):
                found[name] = (module, name, Binding("native"))
        return found

    def is_near(self, module: str, where: str) -> bool:
        """Whether ``where`` belongs to the package that ``module`` is part of, and is no helper from elsewhere."""
        package = ".".join(module.split(".")[:2])
        return where in self.modules or where == package or where.startswith(package + ".")

    def module(self, module: str) -> dict[str, str]:
        """The specs of the names of ``module``. Called in the order of the modules' names: of several modules that
        import something from a module that is not listed, the first holds the definition."""
        out: dict[str, str] = {}
        for name, (where, original, binding) in sorted(self.listed[module].items()):
            if binding.kind == "module":
                own = f"{module}.{name}" == binding.module
                out[name] = "M" if own else f"={binding.module}"
            elif (where, original) != (module, name) and original in self.listed.get(where, ()):
                out[name] = f"={where}.{original}"
            elif (where, original) in self.placed:
                out[name] = f"={self.placed[where, original]}"
            else:
                self.placed[where, original] = f"{module}.{name}"
                out.update(self.definition(name, where, binding))
        namespace = self.reader.namespace(module)
        if namespace.instance_of is not None:
            target = self.reader.resolve_expression(module, namespace.instance_of)
            if target is not None and isinstance(target[2].node, ast.ClassDef):
                members = self.members(target[0], target[2].node)
                out.update({n: "v" if spec == "p" else spec for n, spec in members.items() if n not in out})
        return out

    def definition(self, name: str, where: str, binding: Binding) -> dict[str, str]:
        node = binding.node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return {name: f"f({parameters(node)})"}
        if isinstance(node, ast.ClassDef):
            constructor = self.constructor(where, node)
            out = {name: "c" if constructor is None else f"c({constructor})"}
            out.update({f"{name}.{member}": spec for member, spec in self.members(where, node).items()})
            return out
        if binding.kind == "native":
            return {name: "t" if _TENSOR_TYPE.fullmatch(name) else "n"}
        out = {name: "v"}
        if isinstance(node, ast.Call):
            target = self.reader.resolve_expression(where, node.func)
            if target is not None and isinstance(target[2].node, ast.ClassDef):
                members = self.members(target[0], target[2].node, dynamic=True)
                out.update({f"{name}.{member}": spec for member, spec in members.items()})
        return out

    def bases(self, module: str, node: ast.ClassDef) -> list[tuple[str, ast.ClassDef]]:
        """The class and its bases that can be read, in the order of attribute lookup (depth first)."""
        chain = [(module, node)]
        for base in node.bases:
            target = self.reader.resolve_expression(module, base)
            found: tuple[str, ast.ClassDef] | None = None
            if target is not None and isinstance(target[2].node, ast.ClassDef):
                if target[0].startswith(_INHERIT_FROM):
                    found = target[0], target[2].node
            else:
                stub = self.stubs.get((dotted(base) or "").rpartition(".")[2])
                if stub is not None and (dotted(base) or "").startswith("torch._C"):
                    found = "torch._C", stub
            if found is not None and found not in chain and len(chain) < 20:
                chain += [entry for entry in self.bases(*found) if entry not in chain]
        return chain

    def constructor(self, module: str, node: ast.ClassDef) -> str | None:
        fields = record_fields(node)
        if fields is not None:
            return fields
        chain = self.bases(module, node)
        for _, cls in chain:
            for wanted in ("__init__", "__new__"):
                for item in cls.body:
                    if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name == wanted:
                        return parameters(item, drop_first=True)
        return "" if len(chain) == 1 and not node.bases else None

    def members(self, module: str, node: ast.ClassDef, *, dynamic: bool = False) -> dict[str, str]:
        found: dict[str, str] = {}
        for _, cls in self.bases(module, node):
            for name, spec in class_members(cls, dynamic=dynamic).items():
                found.setdefault(name, spec)
        tree = self.reader.tree(module)
        for name, _ in assigned_names(tree, node.name) if tree is not None else ():
            if name.count(".") == 1 and not name.partition(".")[2].startswith("_"):
                found.setdefault(name.partition(".")[2], "p")
        return dict(sorted(found.items()))


def top(module: str) -> str:
    """The first part of a dotted name."""
    return module.partition(".")[0]


def class_members(node: ast.ClassDef, *, dynamic: bool = False) -> dict[str, str]:
    """Public members that the class's own body defines. ``dynamic``: also those its ``__getattr__`` knows by name."""
    out: dict[str, str] = {}

    def visit(body: list[ast.stmt]) -> None:
        for item in body:
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if dynamic and item.name in ("__getattr__", "__setattr__"):
                    out.update({name: "p" for name in names_compared(item) if not name.startswith("_")})
                if item.name.startswith("_"):
                    continue
                decorators = {(dotted(d) or "").rpartition(".")[2] for d in item.decorator_list}
                if decorators & {"property", "cached_property", "setter", "getter", "classproperty"}:
                    out[item.name] = "p"
                else:
                    out[item.name] = f"m({parameters(item, drop_first='staticmethod' not in decorators)})"
            elif isinstance(item, ast.Assign):
                for target in item.targets:
                    if isinstance(target, ast.Name) and not target.id.startswith("_"):
                        out[target.id] = "p"
            elif isinstance(item, ast.AnnAssign):
                if isinstance(item.target, ast.Name) and not item.target.id.startswith("_"):
                    out[item.target.id] = "p"
            elif isinstance(item, ast.If):
                visit(item.body)
                visit(item.orelse)

    visit(node.body)
    return out


def record_fields(node: ast.ClassDef) -> str | None:
    """The constructor's parameters of a dataclass or a NamedTuple; None for any other class."""
    decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    is_record = any((dotted(d) or "").endswith("dataclass") for d in decorators)
    is_record = is_record or any((dotted(b) or "").rpartition(".")[2] == "NamedTuple" for b in node.bases)
    if not is_record or any(isinstance(i, ast.FunctionDef) and i.name == "__init__" for i in node.body):
        return None
    parts = []
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            parts.append(item.target.id + (f"={default(item.value)}" if item.value is not None else ""))
    return ",".join(parts)


def parameters(node: Function, *, drop_first: bool = False) -> str:
    """The parameters as compact source text, without annotations; ``drop_first`` leaves out ``self`` or ``cls``."""
    a = node.args
    positional = [*a.posonlyargs, *a.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
    parts: list[str] = []
    for index, (argument, value) in enumerate(zip(positional, defaults, strict=True)):
        if not (drop_first and index == 0):
            parts.append(argument.arg + (f"={default(value)}" if value is not None else ""))
        if a.posonlyargs and index == len(a.posonlyargs) - 1 and parts:
            parts.append("/")
    if a.vararg:
        parts.append(f"*{a.vararg.arg}")
    elif a.kwonlyargs:
        parts.append("*")
    for argument, value in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        parts.append(argument.arg + (f"={default(value)}" if value is not None else ""))
    if a.kwarg:
        parts.append(f"**{a.kwarg.arg}")
    return ",".join(parts)


def default(node: ast.expr) -> str:
    """A default value as source text; ``...`` where it is long."""
    text = ast.unparse(node)
    return text if len(text) <= _LONGEST_DEFAULT and "\n" not in text else "..."


def stub_classes(text: str | None) -> dict[str, ast.ClassDef]:
    """The classes of a ``.pyi`` file, by name."""
    if not text:
        return {}
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def stub_functions(text: str | None) -> dict[str, Function]:
    """The functions of a ``.pyi`` file, by name; of overloads the last."""
    if not text:
        return {}
    return {n.name: n for n in ast.parse(text).body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
