"""What holds the objects of a class: the names under which they go, and whether a loader may yield them.

An expression of which nothing is known may be such an object only where it is one of these.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.analysis.classes import kind_of_class
from npuify.analysis.files import DEFINITIONS
from npuify.analysis.flow.flows import followed
from npuify.analysis.values import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.values import Place

Spot = tuple[str, str, str]
"""A file, a function in it (empty for the module), and a word there. Edits move lines, but not these."""

_MOST_FILES = 24
"""Files that name a class, up to which its objects are followed: one that half a project uses may be anywhere."""
_MOST_MADE = 60
"""Calls that make its objects, likewise."""
_FOLLOWED = 60
"""Expressions that one object is followed to."""
_YIELDING: Final = frozenset(("__getitem__", "__iter__", "__next__", "__call__"))
_BATCHES: Final = frozenset("batch batches data sample samples inputs input item items".split())
"""What programs call that which a loader yields."""


class Holders(NamedTuple):
    """What holds the objects of a class.

    Attributes:
        is_model: they are torch modules or tensors.
        spots: where they go, as far as they can be followed.
        names: attributes, annotated parameters and the like: whoever reads something called so may have one.
        is_loaded: a loader may yield them.
        files: the files that make them, and the one with the class.
    """

    is_model: bool
    spots: frozenset[Spot]
    names: frozenset[str]
    is_loaded: bool
    files: frozenset[str]


def word_of(node: ast.expr) -> str:
    """The last name that an expression says: of ``a.b[0]`` and ``a.b()``, it is ``b``."""
    while isinstance(node, (ast.Subscript, ast.Call, ast.Starred, ast.Await)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def spot_of(node: ast.expr, file: FileModel) -> Spot:
    return file.relative, getattr(file.frame(node), "name", ""), word_of(node)


def may_hold(holders: Holders, node: ast.expr, file: FileModel, *, is_batch: bool) -> bool:
    """Whether an expression of which nothing is known may be such an object; ``is_batch``: if a loader yields it."""
    word = word_of(node)
    if spot_of(node, file) in holders.spots or word in holders.names:
        return True
    return holders.is_loaded and (is_batch or word in _BATCHES)


def holders_of(definition: ast.ClassDef, file: FileModel, model: Engine) -> Holders | None:
    """What holds the objects of a class, and of those that derive from it; None where they may be anywhere."""
    spots: set[Spot] = set()
    names = {_snake(definition.name), definition.name.lower()}
    files = {file.relative}
    is_loaded = False
    place = file.place(definition)
    made = _made(definition.name, place, model)
    if made is None:
        return None
    for other, node in made:
        parent = other.parent(node)
        is_loaded = is_loaded or (isinstance(parent, ast.keyword) and parent.arg == "collate_fn")
        if isinstance(parent, ast.arg) and parent.annotation is node:
            names.add(parent.arg)
            spots.add((other.relative, getattr(other.frame(parent), "name", ""), parent.arg))
        elif isinstance(parent, ast.AnnAssign) and parent.annotation is node:
            names.add(word_of(parent.target))
        if not isinstance(node, ast.Call):
            continue
        files.add(other.relative)
        for count, here in enumerate(followed(node, other, model)):
            if count > _FOLLOWED:
                break
            spots.add(spot_of(here.node, here.file))
            around = here.file.parent(here.node)
            if isinstance(around, ast.Assign):
                spots |= {spot_of(target, here.file) for target in around.targets}
                names |= {target.attr for target in around.targets if isinstance(target, ast.Attribute)}
            elif isinstance(around, (ast.Return, ast.Yield)):
                is_loaded = is_loaded or _is_loaders(here.file.frame(around), here.file)
    is_model = kind_of_class(file, definition, model) in MODELS
    if model.is_spent:
        return None
    return Holders(is_model, frozenset(spots), frozenset(names - {""}), is_loaded, frozenset(files))


def _made(name: str, place: Place, model: Engine) -> list[tuple[FileModel, ast.expr]] | None:
    """The calls that make objects of a class, or of one that derives from it, and other places that name it."""
    found: list[tuple[FileModel, ast.expr]] = []
    pending, seen = [(name, place)], {name}
    files = 0
    while pending:
        name, place = pending.pop()
        files += len(model.project.files_with(name.encode()))
        if files > _MOST_FILES or len(found) > _MOST_MADE:
            return None
        for other in model.files_with(name):
            for node, parent in _named(name, place, other, model):
                if isinstance(parent, ast.ClassDef) and node in parent.bases and parent.name not in seen:
                    seen.add(parent.name)
                    pending.append((parent.name, other.place(parent)))
                method = parent if isinstance(parent, ast.Attribute) else None
                call = other.parent(method) if method is not None else parent
                is_call = isinstance(call, ast.Call) and call.func is (method or node)
                found.append((other, call if is_call else method or node))  # type: ignore[arg-type]
    return found


def _named(name: str, place: Place, file: FileModel, model: Engine) -> Iterator[tuple[ast.expr, ast.AST | None]]:
    """Where a file names a class, with what stands around."""
    for node in file.references(name):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            if any(value.definition == place for value in model.values(node, file)):
                yield node, file.parent(node)


def _is_loaders(function: ast.AST, file: FileModel) -> bool:
    """Whether a loader calls a function for what it yields."""
    if not isinstance(function, DEFINITIONS):
        return False
    if function.name in _YIELDING or "collate" in function.name:
        return True
    return any(
        isinstance(parent := file.parent(node), ast.keyword) and parent.arg == "collate_fn"
        for node in file.references(function.name)
    )


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
