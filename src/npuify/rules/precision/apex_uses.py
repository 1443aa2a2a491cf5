"""Where a file takes names from apex, and where it uses them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.rules.common.edits.statements import PRAGMAS, _rest_of_line, ends_its_line, indentation
from npuify.rules.common.helper_branches import never_on_npu
from npuify.rules.common.packages.import_guards import has_fallback, is_asked_for, no_other_takes
from npuify.rules.common.packages.name_uses import Use, uses_of

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.source.python.scopes import Scope

NO_TORCH = "torch is not imported under its own name here"
PERHAPS_IMPORTED = "it is not used here, and other files may import it from here"


class Bound(NamedTuple):
    """A name that an import from apex binds.

    ``sole``: nothing else in its scope binds it, so that every use is known to mean apex.
    """

    alias: ast.alias
    statement: ast.Import | ast.ImportFrom
    name: str
    target: str
    uses: tuple[Use, ...]
    sole: bool


def bound_names(file: PythonFile) -> list[Bound]:
    """Every name that the file binds to apex or a part of it, in order; nothing in apex itself."""
    known: list[Bound] | None = file.recall("apex")
    if known is None:
        known = file.remember("apex", _bound_names(file))
    return known


def _bound_names(file: PythonFile) -> list[Bound]:
    if holds_apex(file):
        return []
    found: list[Bound] = []
    seen: dict[tuple[Scope, str], Bound] = {}
    for node in file.nodes_on_lines_with("apex"):
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or never_on_npu(node, file):
            continue
        scope = file.scope(node)
        for alias, name, target in _aliases(node):
            if _is_own(target, file):
                continue
            known = seen.get((scope, name))
            if known is not None:
                if not known.uses:  # import apex.amp, apex.optimizers
                    found.append(known._replace(alias=alias, statement=node))
                continue
            bindings = scope.names.get(name, [])
            sole = bool(bindings) and all(item.kind == "import" and item.target == target for item in bindings)
            if target != "apex" and len(bindings) > 1:
                sole = False
            bound = Bound(alias, node, name, target, tuple(uses_of(name, target, scope, file)), sole)
            seen[scope, name] = bound
            found.append(bound)
    return found


def holds_apex(file: PythonFile) -> bool:
    """Whether the project is or has an apex that Python finds; a folder of that name with a clone in it is none."""
    return "apex" in file.project.modules or file.source.module.partition(".")[0] == "apex"


def _is_own(target: str, file: PythonFile) -> bool:
    """Whether a part of apex is a file of the project, in a folder without ``__init__.py``."""
    parts = target.split(".")
    return any(".".join(parts[:length]) in file.project.modules for length in range(2, len(parts) + 1))


def _aliases(node: ast.Import | ast.ImportFrom) -> list[tuple[ast.alias, str, str]]:
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level or module.partition(".")[0] != "apex":
            return []
        return [(alias, alias.asname or alias.name, f"{module}.{alias.name}") for alias in node.names]
    return [
        (alias, alias.asname or "apex", alias.name if alias.asname else "apex")
        for alias in node.names
        if alias.name.partition(".")[0] == "apex"
    ]


def removal(node: ast.stmt, file: PythonFile) -> Edit | None:
    """Take a statement away: its lines, or all but a comment behind it; ``pass`` stands in for the only one of a block.

    None where it shares its line with another statement.
    """
    if indentation(node, file) is None or not ends_its_line(node, file):
        return None
    parent = file.parent(node)
    blocks = [getattr(parent, name, None) for name in ("body", "orelse", "finalbody")]
    if not isinstance(parent, ast.Module) and any(block == [node] for block in blocks):
        return file.replace(node, "pass")
    following, rest = _rest_of_line(node, file)
    comment = rest.lstrip()
    if comment and not comment.startswith(PRAGMAS):
        start = file.source.start(node)
        return file.edit(start, file.source.end(node) + len(rest) - len(comment), "")
    return file.edit(file.source.text.line_starts[node.lineno - 1], following, "")


def is_guarded(bound: Bound, file: PythonFile) -> bool:
    return has_fallback(bound.statement, file) or is_asked_for(bound.statement, "apex", file)


def may_be_passed_on(file: PythonFile) -> bool:
    """Whether the file is one from which others are meant to import."""
    return file.source.relative.endswith("__init__.py") or b"__all__" in file.source.data


def is_mentioned(bound: Bound, file: PythonFile) -> bool:
    """Whether the name stands anywhere else in code, even where it could not be told to be a use."""
    return any(
        (isinstance(node, ast.Name) and node.id == bound.name)
        or (isinstance(node, (ast.Global, ast.Nonlocal)) and bound.name in node.names)
        for node in file.nodes_on_lines_with(bound.name)
    )


def may_be_removed(bound: Bound, file: PythonFile, *, uses: int = 0) -> bool:
    """Whether nothing needs the import once its ``uses`` have been replaced, neither here nor in another file."""
    if bound.name == "*" or may_be_passed_on(file):
        return False
    mentions = sum(
        isinstance(node, ast.Name) and node.id == bound.name for node in file.nodes_on_lines_with(bound.name)
    )
    return (mentions == uses if uses else not is_mentioned(bound, file)) and no_other_takes([bound.name], file)
