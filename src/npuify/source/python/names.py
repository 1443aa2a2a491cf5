"""What the names in a Python file stand for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.source.python.nodes import PythonNodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.source.python.scopes import Scope
    from npuify.source.text import Text
    from npuify.words import Words

_NAMING = (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr)
_MAX_HOPS = 24
"""How many assignments and re-exports a name is followed through."""


class PythonNames(PythonNodes):
    """A module whose names can be resolved.

    For arguments and errors see :class:`npuify.source.python.PythonSource`.
    """

    def __init__(
        self,
        relative: str,
        module: str,
        raw: bytes | Text,
        words: Words | None = None,
        *,
        reexport: Callable[[str], str | None] | None = None,
        star_has: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(relative, module, raw, words)
        self._targets: dict[tuple[Scope, str], str | None] = {}
        self._names: dict[tuple[ast.AST, Scope], str | None] = {}
        self._own_names: dict[ast.AST | None, str | None] = {}
        self.reexport = reexport
        self.star_has = star_has

    def qualname(self, node: ast.AST | None, scope: Scope | None = None) -> str | None:
        """The dotted name of the thing that an expression denotes (``torch.cuda.Event``), or None.

        Follows imports, aliases, simple assignments, ``getattr`` with a literal name, ``import_module("torch")``, and
        re-exports of the project's own modules. None also where bindings disagree.
        """
        if scope is None:
            try:
                return self._own_names[node]
            except KeyError:
                if not isinstance(node, _NAMING):
                    return None
                name = self._qualname(node, self.scope_of(node), _MAX_HOPS)
                if node in self.parents:
                    # Else its scope is not known for certain yet.
                    self._own_names[node] = name
                return name
        if not isinstance(node, _NAMING):
            return None
        key = (node, scope)
        try:
            return self._names[key]
        except KeyError:
            name = self._names[key] = self._qualname(node, scope, _MAX_HOPS)
            return name

    def _qualname(self, node: ast.AST, scope: Scope, hops: int) -> str | None:
        if hops <= 0:
            return None
        if isinstance(node, ast.Name):
            return self.name_target(node.id, scope, hops)
        if isinstance(node, ast.Attribute):
            base = self._qualname(node.value, scope, hops - 1)
            return self._follow(f"{base}.{node.attr}") if base else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            if len(node.args) >= 2 and scope.lookup("getattr") is None:
                name = node.args[1]
                base = self._qualname(node.args[0], scope, hops - 1)
                if base and isinstance(name, ast.Constant) and isinstance(name.value, str):
                    return self._follow(f"{base}.{name.value}")
            return None
        if isinstance(node, ast.NamedExpr):
            return self._qualname(node.value, scope, hops - 1)
        if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            module = node.args[0].value
            if isinstance(module, str) and module.partition(".")[0] == "torch":
                is_import = self._qualname(node.func, scope, hops - 1) == "importlib.import_module"
                return self._follow(module) if is_import else None
        return None

    def name_target(self, name: str, scope: Scope, hops: int = _MAX_HOPS) -> str | None:
        """The qualified name that ``name`` stands for in ``scope``, or None."""
        key = (scope, name)
        if key not in self._targets:
            self._targets[key] = self._name_target(name, scope, hops)
        return self._targets[key]

    def _name_target(self, name: str, scope: Scope, hops: int) -> str | None:
        found = scope.lookup(name)
        if found is None:
            module = scope.module
            _ = module.names
            for star in module.star_imports:
                qualified = f"{star}.{name}"
                if self.star_has is not None and self.star_has(qualified):
                    return self._follow(qualified)
            if name == "torch" and module.star_imports:
                return "torch"  # bound nowhere here, so it comes with one of the star imports
            return None
        owner, bindings = found
        targets: set[str | None] = set()
        for binding in bindings:
            if binding.kind == "import":
                targets.add(self._follow(binding.target))
            elif binding.kind == "assign" and binding.value is not None:
                if isinstance(binding.value, ast.Constant) and binding.value.value is None:
                    continue
                targets.add(self._qualname(binding.value, owner, hops - 1))
            elif binding.kind in ("class", "function") and self.module and owner.parent is None:
                targets.add(f"{self.module}.{name}")
            else:
                return None
        return targets.pop() if len(targets) == 1 else None

    def _follow(self, qualified: str) -> str:
        if self.reexport is not None:
            return self.reexport(qualified) or qualified
        return qualified

    def is_builtin(self, name: str, scope: Scope) -> bool:
        """Whether ``name`` is not bound by the file, so that it can only be the builtin."""
        return scope.lookup(name) is None


def dotted_text(node: ast.AST) -> str | None:
    """``torch.cuda.Event`` for such a chain of plain names, None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))
