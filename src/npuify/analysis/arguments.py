"""Which argument of a call each parameter of a function gets. Syntax only: nothing is followed."""

from __future__ import annotations

import ast
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.analysis.files import Function


class Missing(Enum):
    """Why a call shows no argument for a parameter."""

    NOT_PASSED = "its default is taken"
    NOT_SHOWN = "it may be among *arguments or **arguments"


def parameters_of(function: Function) -> list[ast.arg]:
    """The parameters that can be given by position."""
    return [*function.args.posonlyargs, *function.args.args]


def argument_for(
    name: str, function: Function, args: Sequence[ast.expr], keywords: Sequence[ast.keyword], taken: int
) -> ast.expr | Missing:
    """The argument that a parameter gets.

    Args:
        taken: how many parameters are filled before the first of ``args``: 1 for the object of a bound method.
    """
    for keyword in keywords:
        if keyword.arg == name:
            return keyword.value
    names = [arg.arg for arg in parameters_of(function)]
    if name in names:
        position = names.index(name) - taken
        for place, value in enumerate(args):
            if isinstance(value, ast.Starred):
                return Missing.NOT_SHOWN
            if place == position:
                return value
    if any(keyword.arg is None for keyword in keywords):
        return Missing.NOT_SHOWN
    return Missing.NOT_PASSED


def parameter_for(argument: ast.expr, call: ast.Call, function: Function, taken: int) -> ast.arg | None:
    """The parameter that gets an argument of a call; None where that is not shown."""
    every = [*parameters_of(function), *function.args.kwonlyargs]
    for keyword in call.keywords:
        if keyword.value is argument:
            return next((arg for arg in every if arg.arg == keyword.arg), None)
    for place, value in enumerate(call.args):
        if isinstance(value, ast.Starred):
            return None
        if value is argument:
            positional = parameters_of(function)
            return positional[place + taken] if place + taken < len(positional) else None
    return None


def defaults_of(function: Function) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters that have a default, with it."""
    positional = parameters_of(function)
    given = function.args.defaults
    yield from zip(positional[len(positional) - len(given) :], given, strict=True)
    for arg, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            yield arg, default
