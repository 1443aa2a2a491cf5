"""Whether a package that is required has nobody left who imports it, since a module of npuify's takes its place."""

from __future__ import annotations

import ast
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.knowledge.third_party.members import packages_with_members
from npuify.model import Safety
from npuify.project.files import find_files
from npuify.rules.common.packages.members import is_replaced, replacement
from npuify.rules.context import PythonFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.common.packages.members import Import
    from npuify.rules.run import Run

_SILENCED = b"npuify: ignore"


def safety_of_leaving(distribution: str, run: Run) -> Safety | None:
    """How safe it is to require a package no longer: as safe as the edits of all its imports.

    Args:
        distribution: the package's name as it is required, in normal form.
        run: in the portable style the package stays, for CUDA.

    Returns:
        None where an import stays, nothing imports it, or a file cannot tell: a notebook, a name in a string.
    """
    top = distribution.replace("-", "_")
    if top not in packages_with_members() or run.plan.style == "portable":
        return None
    return run.project.once(("replaced-uses", top), partial(_safety, run, top))


def _safety(run: Run, top: str, project: ProjectIndex) -> Safety | None:
    found = Safety.SAFE
    files = project.files_with(top.encode())
    if not files or _in_a_notebook(top, project):
        return None
    is_imported = False
    for relative in files:
        file = PythonFile.of_project(relative, run._replace(project=project))
        if file is None or _SILENCED in file.source.data or _is_named_in_text(top, file):
            return None
        for node in _imports(top, file):
            is_imported = True
            if not is_replaced(node, file):
                return None
            one = replacement(node, file)
            if one is not None and one.safety is Safety.REVIEW:
                found = Safety.REVIEW
    return found if is_imported else None


def _imports(top: str, file: PythonFile) -> Iterator[Import]:
    for node in ast.walk(file.source.tree):
        if isinstance(node, ast.ImportFrom):
            if not node.level and (node.module or "").partition(".")[0] == top:
                yield node
        elif isinstance(node, ast.Import) and any(one.name.partition(".")[0] == top for one in node.names):
            yield node


def _is_named_in_text(top: str, file: PythonFile) -> bool:
    """Whether a string may name the package to whatever imports by name; what is written about it is longer."""
    name = re.compile(rf"{top}(?:\.\w+)*")
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and name.fullmatch(node.value)
        for node in ast.walk(file.source.tree)
    )


def _in_a_notebook(top: str, project: ProjectIndex) -> bool:
    word = re.compile(rb"\b" + top.encode() + rb"\b")
    for one in find_files([project.root], kinds={"notebook"}, errors=[]):
        project.dependencies.add(one.relative)
        if word.search(Path(one.location).read_bytes()):
            return True
    return False
