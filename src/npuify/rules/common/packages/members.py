"""What an import takes of a package that only CUDA has, name by name, and what can be imported in its place."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.knowledge.third_party.members import is_member_module, member_of, named_member, packages_with_members
from npuify.model import Safety
from npuify.rules.common.edits.statements import ends_its_line, indentation
from npuify.rules.common.packages.helper_modules import home_of, import_of, import_text
from npuify.rules.common.packages.import_guards import asks_whether_there, has_fallback, is_asked_for, no_other_takes
from npuify.rules.common.packages.name_uses import Use, uses_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.knowledge.third_party.members import MemberFact
    from npuify.rules.context import PythonFile

Import = ast.Import | ast.ImportFrom

_IMPORT_OF = rb"(?:\A|[\r\n;:])[ \t]*(?:from|import(?:[ \t]+[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,)*)[ \t]*\b%b\b"
"""A statement that imports a package, alone or after others, whatever ends the lines."""


class Taken(NamedTuple):
    """A name that an import binds to a part of such a package.

    Attributes:
        alias: where the import says it.
        name: what it denotes.
        fact: its row; None for a module, whose uses have rows, or where there is none.
        uses: where the file reads it.
    """

    alias: ast.alias
    name: str
    fact: MemberFact | None
    uses: tuple[Use, ...]

    @property
    def bound(self) -> str:
        """The name as the file calls it."""
        return self.alias.asname or self.alias.name.partition(".")[0]


class Replacement(NamedTuple):
    """What takes an import's place.

    Attributes:
        lines: the statements.
        facts: the rows of what is replaced.
        safety: that of the least safe.
        replaced: the aliases that come from elsewhere.
    """

    lines: tuple[str, ...]
    facts: tuple[MemberFact, ...]
    safety: Safety
    replaced: tuple[ast.alias, ...]


def taken(node: Import, file: PythonFile) -> list[Taken]:
    """What an import takes of packages whose names have rows; nothing where the project has such a module itself."""
    key = ("members.taken", node)
    known: list[Taken] | None = file.recall(key)
    if known is None:
        known = file.remember(key, _taken(node, file))
    return known


def _taken(node: Import, file: PythonFile) -> list[Taken]:
    found = []
    if isinstance(node, ast.ImportFrom):
        if node.level or not node.module:
            return []
        named = [(alias, f"{node.module}.{alias.name}") for alias in node.names]
    else:
        named = [(alias, alias.name) for alias in node.names]
    scope = file.scope(node)
    for alias, name in named:
        top = name.partition(".")[0]
        if top not in packages_with_members() or _is_own(name, file):
            continue
        plain = isinstance(node, ast.Import) and alias.asname is None
        bound = alias.asname or alias.name.partition(".")[0]
        uses = () if alias.name == "*" else tuple(uses_of(bound, top if plain else name, scope, file))
        fact = named_member(name) or (None if is_member_module(name) else member_of(name))
        found.append(Taken(alias, name, fact, uses))
    return found


def _is_own(name: str, file: PythonFile) -> bool:
    """Whether the project itself has a module of that name."""
    modules = file.project.modules
    parts = name.split(".")
    own = file.source.module.partition(".")[0] == parts[0]
    return own or any(".".join(parts[:length]) in modules for length in range(1, len(parts) + 1))


def is_guarded(node: Import, file: PythonFile) -> bool:
    """Whether the code goes on without what is imported, or imports it only where it is there."""
    package = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
    return has_fallback(node, file) or is_asked_for(node, package, file)


def replacement(node: Import, file: PythonFile) -> Replacement | None:
    """What takes the place of an import; None where nothing does."""
    key = ("members.replaced", node)
    known = file.recall(key)
    if known is None:
        known = file.remember(key, (_replacement(node, file),))
    found: Replacement | None = known[0]
    return found


def what_works(node: Import, file: PythonFile) -> MemberFact | None:
    """The row of names that work where an NPU is, if an import takes nothing else of such packages."""
    names = taken(node, file)
    rows: list[MemberFact | None] = []
    for one in names:
        rows += [one.fact] if one.fact is not None else [member_of(use.name) for use in one.uses] or [None]
    if not names or len(names) != len(node.names):
        return None
    return rows[0] if all(row is not None and row.outcome == "works" for row in rows) else None


def is_replaced(node: Import, file: PythonFile) -> bool:
    """Whether all that an import takes of such packages comes from elsewhere, so that the package is not imported."""
    found = replacement(node, file)
    return found is not None and len(taken(node, file)) == len(node.names) == len(found.replaced)


def _replacement(node: Import, file: PythonFile) -> Replacement | None:
    names = taken(node, file)
    if not any(_facts(one) for one in names) or has_fallback(node, file) or asks_whether_there(node, file):
        return None
    text = file.source.data[file.source.start(node) : file.source.end(node)]
    if b"#" in text or b"\\" in text or indentation(node, file) is None or not ends_its_line(node, file):
        return None
    home = home_of(file.source.relative, file.project)
    by_module: dict[str, list[str]] = {}
    lines: list[str] = []
    facts: list[MemberFact] = []
    replaced: list[ast.alias] = []
    kept = list(node.names)
    for one in names:
        rows = _facts(one)
        if rows is None or (one.fact is None and not _is_module_free(node, one, file)):
            continue
        module = rows[0].module
        full = import_of(module, home, file.project, file.source)
        if one.fact is not None:
            by_module.setdefault(full, []).append(_text(one.alias))
        else:
            head = import_text(full)
            lines.append(head if one.bound == module else f"{head} as {one.bound}")
        kept.remove(one.alias)
        replaced.append(one.alias)
        facts += [row for row in rows if row not in facts]
    together = any(row.together for row in facts)
    if not facts or (together and (kept or not _is_only_import(names, file) or _goes_on(names, file))):
        return None
    lines += [f"from {full} import {', '.join(parts)}" for full, parts in by_module.items()]
    if kept:
        head = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
        lines.insert(0, f"{head} {', '.join(map(_text, kept))}")
    safe = all(row.safety is Safety.SAFE for row in facts)
    return Replacement(tuple(lines), tuple(facts), Safety.SAFE if safe else Safety.REVIEW, tuple(replaced))


def _is_only_import(names: Sequence[Taken], file: PythonFile) -> bool:
    """Whether a file imports the package of some names nowhere else."""
    package = re.escape(names[0].name.partition(".")[0].encode())
    return len(re.findall(_IMPORT_OF % package, file.source.data)) == 1


def _goes_on(names: Sequence[Taken], file: PythonFile) -> bool:
    """Whether a file goes on where a function of the package fails: then it runs without it."""
    for use in (use for one in names for use in one.uses):
        current: ast.AST = use.node
        for up in file.ancestors(use.node):
            if isinstance(up, ast.Try) and current in up.body and up.handlers:
                if not any(isinstance(handler.body[-1], ast.Raise) for handler in up.handlers):
                    return True
            current = up
    return False


def _facts(one: Taken) -> list[MemberFact] | None:
    """The rows by which a name, or each use of a module, is replaced; None where it is not."""
    if one.fact is not None:
        fits = (
            one.fact.outcome == "replaced" and named_member(one.name) is one.fact and _fit(one.fact, one.uses, one.name)
        )
        return [one.fact] if fits else None
    rows: list[MemberFact] = []
    for use in one.uses:
        name = _member_name(use.name, one.name)
        row = named_member(name)
        if row is None or row.outcome != "replaced" or not _fit(row, (use,), name):
            return None
        rows += [row] if row not in rows else []
    return rows if rows and len({row.module for row in rows}) == 1 else None


def _member_name(used: str, module: str) -> str:
    """The part of a use's name, through a module, that has a row; empty where none has."""
    parts = used.split(".")
    for length in range(module.count(".") + 2, len(parts) + 1):
        name = ".".join(parts[:length])
        row = named_member(name)
        if row is not None and (name.rpartition(".")[0] == module or module in row.reached_from):
            return name
    return ""


def _fit(row: MemberFact, uses: Sequence[Use], name: str) -> bool:
    """Whether no call gives an argument that the replacement does not take."""
    if not row.without:
        return True
    for use in uses:
        call = use.call
        if call is None and row.safety is Safety.REVIEW and use.name == name:
            continue  # a class that is called elsewhere: it refuses what it does not take
        if call is None or use.name != name:
            return False
        if len(call.args) > row.positional or any(isinstance(one, ast.Starred) for one in call.args):
            return False
        if any(one.arg is None or one.arg in row.without for one in call.keywords):
            return False
    return True


def _is_module_free(node: Import, one: Taken, file: PythonFile) -> bool:
    """Whether the name of a module can stand for another one: by itself in its statement, and for this file alone."""
    dotted = isinstance(node, ast.Import) and "." in one.alias.name and one.alias.asname is None
    bindings = file.scope(node).names.get(one.bound, [])
    return len(node.names) == 1 and not dotted and len(bindings) == 1 and no_other_takes([one.bound], file)


def _text(alias: ast.alias) -> str:
    return alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"
