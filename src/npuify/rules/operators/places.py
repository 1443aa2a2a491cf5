"""Where in a program an operator stands."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from npuify.rules.context import PythonFile
from npuify.rules.text_checks import STEP_NAMES

if TYPE_CHECKING:
    from npuify.analysis.project import ProjectIndex
    from npuify.rules.run import Run

_MOST_FILES = 8
"""Other files that are looked into for calls of one function."""


def in_module_class(node: ast.AST, file: PythonFile) -> bool:
    """Whether a place is in a class that has a ``forward``, so that it runs in the model's step."""
    return any(isinstance(up, ast.ClassDef) and file.source.has_method(up, "forward") for up in file.ancestors(node))


def function_of_step(node: ast.AST, file: PythonFile) -> ast.AST | None:
    """The function of a file around a place that a model's class calls, or a function that calls ``backward``: a loss,
    a sampler, a helper, or what is called like one; also the loop around a place beside ``backward`` itself. None where
    no such call stands in the file."""
    around = [up for up in file.ancestors(node) if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef))]
    outer = around[-1] if around else None
    loop = _loop_of_training(node, file)
    if loop is not None:
        return loop
    if outer is None:
        return None
    owner = file.parent(outer)
    if isinstance(owner, ast.ClassDef):
        return outer if _is_called_elsewhere(owner.name, outer.name, file) else None
    if not isinstance(owner, ast.Module):
        return None
    if STEP_NAMES.search(outer.name.encode()) is not None:
        return outer
    for use in file.model.references(outer.name):
        call = file.parent(use)
        if not isinstance(use, ast.Name) or not isinstance(call, ast.Call) or call.func is not use:
            continue
        if in_module_class(use, file) or _beside_backward(use, file):
            return outer
    return outer if _is_called_elsewhere("", outer.name, file) else None


def _is_called_elsewhere(owner: str, name: str, file: PythonFile) -> bool:
    """Whether a step in another file calls a function of this one, or a method of a class that it knows by name.

    Args:
        owner: the method's class; empty for a function.
        name: the function, or the method.
    """
    if name.startswith("__"):
        return False
    here = file.source.relative
    others = [one for one in file.project.files_with(f"{name}(".encode()) if one != here]
    if not others or len(others) > _MOST_FILES:
        return False
    module = here.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
    return any(
        file.project.once(
            ("calls-in-step", other, owner or module, name),
            partial(_calls_in_step, other, owner, f"{module}.{name}", file.run),
        )
        for other in others
    )


def _calls_in_step(relative: str, owner: str, name: str, run: Run, project: ProjectIndex) -> bool:
    """Whether a step of a file calls a function of another module, or a method of a class that the file names.

    Args:
        owner: the method's class; empty for a function.
        name: with the module before it.
    """
    file = PythonFile.of_project(relative, run._replace(project=project))
    if file is None or not (file.contains(b".backward(") or file.contains(b"def forward")):
        return False
    if owner and not file.contains(owner.encode()):
        return False
    for use in file.model.references(name.rpartition(".")[2]):
        call = file.parent(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            continue
        called = file.qualname(use)
        if not owner and (called is None or not f".{called}".endswith(f".{name}")):
            continue
        if owner and (not isinstance(use, ast.Attribute) or (called and not called.endswith(f"{owner}.{use.attr}"))):
            continue
        if in_module_class(use, file) or _beside_backward(use, file):
            return True
    return False


def _loop_of_training(node: ast.AST, file: PythonFile) -> ast.AST | None:
    """The innermost loop around a place in which ``backward`` is called, by the same function."""
    for up in file.ancestors(node):
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return None
        if isinstance(up, (ast.For, ast.AsyncFor, ast.While)) and any(
            isinstance(one, ast.Attribute) and one.attr == "backward" and up in file.ancestors(one)
            for one in file.nodes_on_lines_with("backward")
        ):
            return up
    return None


def _beside_backward(node: ast.AST, file: PythonFile) -> bool:
    """Whether the function around a place, or the file's own code, calls ``backward``."""
    scope = file.scope(node)
    return any(
        isinstance(one, ast.Attribute) and one.attr == "backward" and file.scope(one) is scope
        for one in file.nodes_on_lines_with("backward")
    )
