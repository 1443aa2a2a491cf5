"""Which of a project's classes with a ``cuda`` of their own an object may be of, where its type is not known."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.flow.holders import Holders, may_hold
from npuify.analysis.project import IMPORTS
from npuify.analysis.targets import bound_by
from npuify.analysis.values import Kind
from npuify.project.import_paths import ImportPaths

if TYPE_CHECKING:
    from npuify.analysis.own_cuda import OwnCuda
    from npuify.analysis.project import ProjectIndex
    from npuify.rules.context import PythonFile


def may_be(receiver: ast.expr, attribute: str, file: PythonFile, *, called: bool) -> list[OwnCuda]:
    """The classes that define ``attribute`` and of which an expression may be an object, for all that is known."""
    # Every torch module and tensor has the NPU's name as well, so a class of that kind does not make it uncertain.
    own = [
        item
        for item in file.project.defines(attribute, called=called, seen_from=file.source.relative)
        if not (item.is_torch and called)
    ]
    if not own:
        return []
    batch = _is_batch(receiver, file)
    return [item for item in own if _may_be_of(item, receiver, file, is_batch=batch, called=called)]


def _may_be_of(own: OwnCuda, receiver: ast.expr, file: PythonFile, *, is_batch: bool, called: bool) -> bool:
    holders = _holders(own, file)
    if holders is None:
        return True
    if holders.is_model and called:
        return False
    here = file.source.relative
    return may_hold(holders, receiver, file.model, is_batch=is_batch) and any(
        _connected(here, maker, file.project) for maker in holders.files
    )


def _holders(own: OwnCuda, file: PythonFile) -> Holders | None:
    """What holds a class's objects; None where the class cannot be looked at."""

    def find() -> Holders | None:
        model = file.reaching(Reach.PROGRAM)
        module, _, name = own.qualified.rpartition(".")
        relative = file.project.file_of(module)
        home = model.file(relative, file.model) if relative is not None else None
        definition = home.source.definition(name) if home is not None else None
        is_class = home is not None and isinstance(definition, ast.ClassDef)
        return model.holders(definition, home) if is_class else None  # type: ignore[arg-type]

    return file.project.once_here(("holders", own.qualified), find)


def _connected(one: str, other: str, project: ProjectIndex) -> bool:
    """Whether imports connect two files of the project: what a folder holds that no program imports is not meant."""
    if one == other:
        return True
    project.dependencies.add(IMPORTS)
    known = project.remembered
    if "connected" not in known:
        contents = {}
        for relative in project.modules.values():
            try:
                contents[relative] = (project.root / relative).read_bytes()
            except OSError:
                continue
        known["connected"] = ImportPaths(contents).connected()
    return other in known["connected"].get(one, ())


def _is_batch(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is what a loop or ``next`` takes out of something, or a part of that."""
    if file.values(node).of_kind(Kind.BATCH):
        return True
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") == "next"
    if not isinstance(node, ast.Name):
        return False
    found = file.scope(node).lookup(node.id)
    for binding in found[1] if found is not None else ():
        bound = bound_by(binding, file.model)
        if bound is not None and bound.how == "element":
            return True
    return False
