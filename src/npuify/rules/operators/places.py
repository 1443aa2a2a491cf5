"""Where in a program an operator stands."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.rules.text_checks import STEP_NAMES

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


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
    if outer is None or not isinstance(file.parent(outer), ast.Module):
        return None
    if STEP_NAMES.search(outer.name.encode()) is not None:
        return outer
    for use in file.model.references(outer.name):
        call = file.parent(use)
        if not isinstance(use, ast.Name) or not isinstance(call, ast.Call) or call.func is not use:
            continue
        if in_module_class(use, file) or _beside_backward(use, file):
            return outer
    return None


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
