"""Backends that a class names: members of an enumeration, fields of settings."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.values import Kind

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel
    from npuify.analysis.model import ProgramModel
    from npuify.rules.context import PythonFile

_TAKING = frozenset(
    f"torch.distributed.{name}"
    for name in ("init_process_group", "distributed_c10d.init_process_group", "new_group", "distributed_c10d.new_group",
                 "new_subgroups", "device_mesh.init_device_mesh", "Backend")
)  # fmt: skip
"""Functions of torch that take a backend."""


_MOST_FILES = 12
"""Files that may read a field; of a name that more speak of, nothing is known: to follow each takes minutes."""


def field_of(node: ast.expr, file: PythonFile) -> tuple[ast.ClassDef, str] | None:
    """The class and the field, or member, whose value a string is: by itself, or as an item of ``Literal``."""
    current: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.Assign, ast.AnnAssign)):
            targets = up.targets if isinstance(up, ast.Assign) else [up.target]
            owner = file.parent(up)
            target = targets[0]
            if not isinstance(owner, ast.ClassDef) or len(targets) > 1 or not isinstance(target, ast.Name):
                return None
            is_value = up.value is node
            allowed = isinstance(up, ast.AnnAssign) and current is up.annotation
            return (owner, target.id) if is_value or allowed else None
        if isinstance(up, (ast.stmt, ast.Call, ast.Lambda)):
            return None
        current = up
    return None


def member_meant(node: ast.expr, file: PythonFile) -> tuple[ast.ClassDef, str] | None:
    """The member that ``Backend("nccl")`` looks up, in an enumeration of this file."""
    call = file.parent(node)
    if not isinstance(call, ast.Call) or call.args != [node] or not isinstance(node, ast.Constant):
        return None
    sole = file.values(call.func).sole
    if sole is None or sole.kind is not Kind.CLASS or sole.place is None:
        return None
    definition = file.model.node_at(sole.place) if sole.place.file == file.model.relative else None
    if not isinstance(definition, ast.ClassDef) or not _is_enumeration(definition, file):
        return None
    for statement in definition.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            target = statement.targets[0]
            if statement.value.value == node.value and isinstance(target, ast.Name):
                return definition, target.id
    return None


def _is_enumeration(definition: ast.ClassDef, file: PythonFile) -> bool:
    return any((file.qualname(base) or "").rpartition(".")[2].endswith(("Enum", "Flag")) for base in definition.bases)


def reaches_group(field: tuple[ast.ClassDef, str], file: PythonFile) -> bool:
    """Whether what a field holds surely is given to torch as a backend, anywhere in the project."""
    definition, name = field
    if len(file.project.files_with(f".{name}".encode())) > _MOST_FILES:
        return False
    known: bool | None = file.recall(("backend field", definition, name))
    if known is None:
        known = file.remember(("backend field", definition, name), _reaches_group(definition, name, file))
    return known


def _reaches_group(definition: ast.ClassDef, name: str, file: PythonFile) -> bool:
    # To follow parameters through all callers of a large project takes minutes.
    model = file.reaching(Reach.IMPORTS)
    owner = file.model.place(definition)
    others = file.reaching(Reach.PROGRAM).files_with(name)
    for other in (file.model, *(one for one in others if one.relative != file.model.relative)):
        for node in other.references(name):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                owners = {value.definition or value.place for value in model.values(node.value, other)}
                if owner in owners and _is_given_to_torch(node, other, model):
                    return True
    return False


def _is_given_to_torch(node: ast.Attribute, file: FileModel, model: ProgramModel) -> bool:
    parent = file.parent(node)
    read = parent if isinstance(parent, ast.Attribute) and parent.attr == "value" else node
    for here in model.flow(read, file).occurrences:
        up = here.file.parent(here.node)
        call = here.file.parent(up) if isinstance(up, ast.keyword) else up
        if not isinstance(call, ast.Call) or here.node is call.func:
            continue
        if here.file.source.qualname(call.func) in _TAKING:
            return True
    return False
