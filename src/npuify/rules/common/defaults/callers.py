"""Which option has to be given before a function is called, or an object of a class made: where each use stands."""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from npuify.analysis.files import DEFINITIONS
from npuify.rules.context import PythonFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.run import Run

    Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    OnlyWith = Callable[[ast.AST, PythonFile, int], str]

_MOST_FILES: Final = 3
"""Other files that are looked into for uses of one name."""
_MOST_NAMES: Final = 40
"""Names of one file that are looked for in all files of a project."""
_PLAIN_DECORATORS: Final = ("torch.", "functools.", "staticmethod", "classmethod", "property", "dataclasses.")
_NAMESPACES: Final = (b"globals()", b"vars()", b"locals()")
_BY_NAME: Final = re.compile(rb"\b(?:globals|vars|locals)\(\)")
_HOOKS: Final = frozenset(
    "forward extra_repr train eval cuda to cpu half float apply state_dict load_state_dict".split()
)
"""Methods of a model that torch calls."""


def switch_of_callers(node: ast.AST, file: PythonFile, depth: int, only_with: OnlyWith) -> str:
    """The option without which nothing calls the functions, or makes the classes, that a place stands in.

    Args:
        node: the place.
        file: its file.
        depth: how many callers to go back.
        only_with: the option without which a place within its function does not run.
    """
    if depth <= 0:
        return ""
    for definition in _around(node, file):
        known = _known_switch(definition, file, depth, only_with)
        if known:
            return known
    return ""


def _known_switch(definition: Definition, file: PythonFile, depth: int, only_with: OnlyWith) -> str:
    """As :func:`_switch_of`, asked once for each definition of a file."""
    if file.is_stored:
        place = (file.source.relative, definition.name, definition.lineno, depth)
        return file.project.once(
            ("switch of callers", *place),
            lambda project: _switch_of(definition, file.seen_in(project), depth, only_with),
        )
    key = ("switch of callers", definition, depth)
    known = file.recall(key)
    return str(file.remember(key, _switch_of(definition, file, depth, only_with)) if known is None else known)


def _around(node: ast.AST, file: PythonFile) -> Iterator[Definition]:
    """The functions and classes in whose bodies a place stands; inner ones first."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (*DEFINITIONS, ast.ClassDef)) and current in up.body:
            yield up
        current = up


def _switch_of(definition: Definition, file: PythonFile, depth: int, only_with: OnlyWith) -> str:
    if not _is_used_by_name_alone(definition, file):
        return ""
    is_inner = isinstance(file.parent(definition), DEFINITIONS)
    if not is_inner and _is_named_widely(definition.name, file):
        return ""
    switches = _switches(_uses_in(definition.name, file, definition), depth, only_with)
    if switches is None:
        return ""
    if is_inner:
        return switches[0] if switches else ""  # of a function's own, which no other file can name
    others = _others_with(definition.name, file)
    if others is None:
        return ""
    for other in others:
        more = file.project.once(
            ("switches-of-uses", other, definition.name, depth),
            partial(_switches_in, other, definition.name, file.run, depth, only_with),
        )
        if more is None:
            return ""
        switches += more
    return switches[0] if switches else ""


def _switches_in(
    relative: str, name: str, run: Run, depth: int, only_with: OnlyWith, project: ProjectIndex
) -> list[str] | None:
    """As :func:`_switches`, of the uses of a name in another file."""
    file = PythonFile.of_project(relative, run._replace(project=project))
    return None if file is None else _switches(_uses_in(name, file, None), depth, only_with)


def _switches(uses: Iterator[tuple[ast.AST | None, PythonFile]], depth: int, only_with: OnlyWith) -> list[str] | None:
    """What each use rests on; None where one rests on nothing, or cannot be told."""
    found = []
    for use, home in uses:
        switch = only_with(use, home, depth - 1) if use is not None else ""
        if not switch:
            return None
        found.append(switch)
    return found


def _is_used_by_name_alone(definition: Definition, file: PythonFile) -> bool:
    """Whether nothing but its name leads to a definition: no registry, no framework that calls it."""
    name = definition.name
    if name.startswith("__") or len(name) < 3 or _takes_by_name(file):
        return False
    for decorator in definition.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if not str(file.qualname(called) or getattr(called, "id", "?")).startswith(_PLAIN_DECORATORS):
            return False
    around = file.parent(definition)
    owner = around if isinstance(around, ast.ClassDef) else definition if isinstance(definition, ast.ClassDef) else None
    if owner is None:
        return True
    bases = [file.qualname(base) or getattr(base, "id", "?") for base in owner.bases]
    if owner.keywords or any(base != "object" and not base.startswith("torch.") for base in bases):
        return False
    return owner is definition or not bases or name not in _HOOKS


def _takes_by_name(file: PythonFile) -> bool:
    """Whether a file takes names out of a namespace as text; searched for plain words first, which is much faster."""
    known = file.recall("takes by name")
    if known is None:
        data = file.source.data
        takes = any(one in data for one in _NAMESPACES) and _BY_NAME.search(data) is not None
        known = file.remember("takes by name", takes)
    return bool(known)


def _is_named_widely(name: str, file: PythonFile) -> bool:
    """Whether a name stands in more other files than are looked into, or may be taken out of the file as text."""
    found = file.project.files_with(name.encode())
    if len(found) > _MOST_FILES + 1:
        return True
    relative = file.source.relative
    return len(found) - (relative in found) > _MOST_FILES or bool(file.project.files_taking_from(relative))


def _others_with(name: str, file: PythonFile) -> list[str] | None:
    """The other files in which a name stands, where these are few; None where they are not to be looked into."""
    relative = file.source.relative
    looked: set[str] = file.recall("names of callers") or file.remember("names of callers", set())
    if name not in looked and len(looked) >= _MOST_NAMES:
        return None
    looked.add(name)
    return [one for one in file.project.files_with(name.encode()) if one != relative]


def _uses_in(name: str, file: PythonFile, definition: Definition | None) -> Iterator[tuple[ast.AST | None, PythonFile]]:
    is_of_module = definition is not None and isinstance(file.parent(definition), ast.Module)
    for node in file.model.references(name):
        if node is definition or (definition is not None and any(up is definition for up in file.ancestors(node))):
            continue
        if isinstance(node, ast.alias):
            if node.asname is not None:
                yield None, file
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, ast.Constant):
            if not _is_export(node, file):
                yield None, file
            continue
        if isinstance(node, ast.Attribute) and is_of_module:
            continue  # of an object: in its own file a function of the module goes by its name
        is_read = isinstance(getattr(node, "ctx", None), ast.Load)
        yield (node if is_read else None), file


def _is_export(node: ast.Constant, file: PythonFile) -> bool:
    """Whether a string stands in ``__all__``."""
    return any(
        isinstance(up, (ast.Assign, ast.AugAssign)) and "__all__" in file.code(up).partition("=")[0]
        for up in file.ancestors(node)
    )
