"""Where a Python file builds extensions while it runs: by torch's ``load``, or by a helper that hands on to it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.rules.packages.extensions.builds import AT_RUN_TIME, called_function, loading_helpers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from npuify.rules.opt_ins import ReplacedExtension


class Loading:
    """The calls of a file that build extensions.

    Args:
        tree: the file's.
        extensions: what is replaced in this project.
        parents: the node that holds each node.
    """

    def __init__(
        self, tree: ast.AST, extensions: Sequence[ReplacedExtension], parents: Mapping[ast.AST, ast.AST]
    ) -> None:
        self._tree, self._extensions, self._parents = tree, extensions, parents
        self._helpers = loading_helpers(tree)

    def built(self, node: ast.Call) -> ReplacedExtension | None:
        """The extension that a call builds, or imports by ``importlib``, where it is replaced."""
        function = called_function(node)
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if function in self._helpers:
            place = self._helpers[function][0]
            name = node.args[place] if place < len(node.args) else None
        elif function in AT_RUN_TIME and ("sources" in given or len(node.args) > 1):
            name = given.get("name", node.args[0] if node.args else None)
        elif function == "import_module" and len(node.args) == 1:
            name = node.args[0]
        else:
            return None
        module: object = name.value if isinstance(name, ast.Constant) else None
        holder = self._parents.get(node)
        if isinstance(name, ast.JoinedStr) and isinstance(holder, ast.Assign):
            module = next((one.id for one in holder.targets if isinstance(one, ast.Name)), None)
        found = {one.module: one for one in self._extensions}
        return found.get(str(module)) or found.get(f"torch.ops.{module}") if module else None

    def functions(self) -> Iterator[LoadingFunction]:
        """Functions with a helper all of whose calls build what is replaced: they ask nvcc before, and so fail."""
        for node in ast.walk(self._tree) if self._helpers else ():
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(one, ast.FunctionDef) and one.name in self._helpers for one in node.body
            ):
                calls = [
                    one for one in ast.walk(node) if isinstance(one, ast.Call) and called_function(one) in self._helpers
                ]
                built = [one for call in calls if (one := self.built(call)) is not None]
                if calls and len(built) == len(calls):
                    yield self._function(node, calls, built)

    def _function(
        self, node: ast.FunctionDef, calls: Sequence[ast.Call], built: Sequence[ReplacedExtension]
    ) -> LoadingFunction:
        made = {
            target.id: extension
            for call, extension in zip(calls, built, strict=True)
            if isinstance(holder := self._parents.get(call), ast.Assign)
            for target in holder.targets
            if isinstance(target, ast.Name)
        }
        body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
        given = [one.value for one in node.body if isinstance(one, ast.Return)]
        value = next((made[one.id] for one in given if isinstance(one, ast.Name) and one.id in made), None)
        stays = isinstance(body[0], ast.Return) or _leaves(body[0]) or bool(given and value is None)
        return LoadingFunction(node, None if stays else body[0], value, built[0])


class LoadingFunction(NamedTuple):
    """A function that does nothing but build extensions that are replaced."""

    node: ast.FunctionDef
    first: ast.stmt | None
    """Its first statement, before which it can be left; None where it is left already, or gives something else."""
    value: ReplacedExtension | None
    """The extension that it returns."""
    one: ReplacedExtension
    """One of those that it builds."""


def _leaves(statement: ast.stmt) -> bool:
    """Whether a statement is what stands there once the file was migrated in the portable style."""
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Attribute)
        and statement.test.attr == "TAKES_ITS_PLACE"
    )


def may_load(raw: bytes, extension: ReplacedExtension) -> bool:
    """Whether a file that calls nothing of an extension may build it for others, by a helper of its own."""
    name = extension.module.removeprefix("torch.ops.").encode()
    return b"cpp_extension" in raw and (b'"%b"' % name in raw or b"'%b'" % name in raw)
