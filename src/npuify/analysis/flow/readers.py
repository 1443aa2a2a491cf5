"""Where what is assigned to a name, an attribute or an element is read, in its file and in others."""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING

from npuify.analysis.classes import lineage
from npuify.analysis.engine import Reach
from npuify.analysis.flow.device_names import REGISTRIES
from npuify.analysis.flow.occurrences import further
from npuify.analysis.values import MODELS, Kind
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.engine import Engine
    from npuify.analysis.files import FileModel
    from npuify.analysis.flow.occurrences import Occurrence
    from npuify.analysis.values import Place


def readers_of(target: ast.expr, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """Where what is assigned to a target is read."""
    if isinstance(target, ast.Name):
        yield from _readers_of_name(target, here, model)
    elif isinstance(target, ast.Attribute):
        yield from _readers_of_attribute(target, here, model)
    elif isinstance(target, ast.Subscript):
        yield from readers_of_container(target.value, here._replace(depth=here.depth + 1), model)
    elif isinstance(target, (ast.Tuple, ast.List)) and here.depth:
        for element in target.elts:
            yield from readers_of(element, here._replace(depth=here.depth - 1), model)


def readers_of_container(node: ast.expr, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """Where a container is read that something is put into."""
    yield here._replace(node=node)
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield from readers_of(node, here, model)


def _readers_of_name(target: ast.Name, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    file, name = here.file, target.id
    step = further(here, file.place(target), phrase("assigned to {name}", name=name))
    scope = file.scope(target)
    found = scope.lookup(name)
    owner = found[0] if found is not None else scope.module
    for node in file.references(name):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read = file.scope(node).lookup(name)
            if (read[0] if read is not None else scope.module) is owner:
                yield here._replace(node=node, file=file, step=step)
    if owner.is_class and here.by_name and len(name) > 1 and not REGISTRIES.search(name):
        for node in file.references(name):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield here._replace(node=node, file=file, step=step, sure=False)
    if owner.is_class and model.reach is Reach.PROGRAM and isinstance(owner.node, ast.ClassDef):
        yield from _readers_of_member(owner.node, name, here._replace(step=step), model)
    if owner.parent is not None or model.reach is not Reach.PROGRAM:
        return
    qualified = f"{file.source.module}.{name}"
    for other in _files_taking(name, file, model):
        for node in other.references(name):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                if _is_imported(node, qualified, file, other, model):
                    yield here._replace(node=node, file=other, step=step)


def _readers_of_member(owner: ast.ClassDef, name: str, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    """Where other files read what a class binds in its body: ``Settings.PLACE``, ``Kind.GPU``."""
    place = here.file.place(owner)
    for other in model.files_with(f".{name}"):
        if other is here.file:
            continue
        for node in other.references(name):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                if place in owners_of(node.value, other, model):
                    yield here._replace(node=node, file=other)


def _files_taking(name: str, file: FileModel, model: Engine) -> list[FileModel]:
    """The other files that may have a name of a module: they say the module, or a package that hands the name on."""
    *packages, module = file.source.module.split(".")
    held = set(model.project.files_with(name.encode()))
    folder = posixpath.dirname(file.relative)
    is_passed_on = file.relative.endswith("__init__.py") or posixpath.join(folder, "__init__.py") in held
    found = model.files_with(name, () if is_passed_on or not module else (module, *packages[-1:]))
    return [other for other in found if other is not file]


def _is_imported(
    node: ast.Name | ast.Attribute, qualified: str, file: FileModel, other: FileModel, model: Engine
) -> bool:
    if isinstance(node, ast.Attribute):
        place = file.place(file.source.tree)
        return any(value.kind is Kind.MODULE and value.place == place for value in model.values(node.value, other))
    found = other.scope(node).lookup(node.id)
    return found is not None and any(
        binding.kind == "import" and model.stands_for(binding.target.lstrip(".")) == qualified for binding in found[1]
    )


def _readers_of_attribute(target: ast.Attribute, here: Occurrence, model: Engine) -> Iterator[Occurrence]:
    file, name = here.file, target.attr
    if here.by_name and REGISTRIES.search(name):
        return
    step = further(here, file.place(target), phrase("assigned to .{name}", name=name))
    owners = owners_of(target.value, file, model)
    others = {other.relative: other for other in model.files_with(f".{name}")}
    files = {file.relative: file, **others} | {file.relative: file}  # the project may hold it with the text of before
    for other in files.values():
        for node in other.references(name):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read = owners_of(node.value, other, model) if owners else owners
                if not owners or not owners.isdisjoint(read):
                    yield here._replace(node=node, file=other, step=step, sure=here.sure and bool(owners))
                elif here.by_name and not read and not is_torchs(node.value, other, model):
                    yield here._replace(node=node, file=other, step=step, sure=False)


def is_torchs(node: ast.expr, file: FileModel, model: Engine) -> bool:
    """Whether an expression surely is a tensor or module of torch's own."""
    values = model.values(node, file)
    return values.only(Kind.TENSOR, *MODELS) and not any(value.definition is not None for value in values)


def owners_of(node: ast.expr, file: FileModel, model: Engine) -> set[Place]:
    """The classes of the project, with their bases, of what an expression stands for; empty where that is not known."""
    found: set[Place] = set()
    for value in model.values(node, file):
        home = model.definition(value, file)
        if home is not None and isinstance(home[1], ast.ClassDef):
            found |= {one_[0].place(one_[1]) for one_ in lineage((home[0], home[1]), model)}
        elif value.kind is Kind.MODULE and value.place is not None:
            found.add(value.place)
    return found
