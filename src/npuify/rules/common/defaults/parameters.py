"""Options that a program reads as parameters: those of click and typer, and of what fire calls."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.rules.common.defaults.options import Known, constant, default_of_field

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMMANDS: Final = ("command", "callback")


def default_of_parameter(node: ast.Name, file: PythonFile) -> Known | None:
    """What a parameter is where the program is started without options; None where that is not known.

    Args:
        node: a name that is bound once, to a parameter.
        file: its file.
    """
    for up in file.ancestors(node):
        if isinstance(up, _FUNCTIONS):
            named = [*up.args.posonlyargs, *up.args.args, *up.args.kwonlyargs]
            if node.id in (one.arg for one in named):
                return _of_click(up, node.id, file) or _of_signature(up, node.id, file)
    return None


def _of_click(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, file: PythonFile) -> Known | None:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and (file.qualname(decorator.func) or "") in (
            "click.option",
            "rich_click.option",
        ):
            written = [
                one.value for one in decorator.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            if name in _parameters(written):
                return _default_of_click(decorator, written)
    return None


def _parameters(written: list[str]) -> list[str]:
    """The parameter that click makes of an option's names: one without dashes, else the longest spelling."""
    plain = [one for one in written if one.isidentifier()]
    if plain:
        return plain
    names = [one.partition("/")[0].strip() for one in written]
    long = [one for one in names if one.startswith("--")] or names
    return [long[0].lstrip("-").replace("-", "_").lower()] if long else []


def _default_of_click(call: ast.Call, written: list[str]) -> Known | None:
    option = next((one.partition("/")[0] for one in written if one.startswith("--")), written[0])
    given = {one.arg: one.value for one in call.keywords}
    if None in given or "required" in given or "callback" in given or "envvar" in given or "prompt" in given:
        return None
    if "default" in given:
        return constant(given["default"], option)
    is_flag = "is_flag" in given and isinstance(given["is_flag"], ast.Constant) and given["is_flag"].value is True
    if is_flag or any("/" in one for one in written):
        return Known(False, option)
    return None if "type" in given and "multiple" in given else Known(None, option)


def _of_signature(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, file: PythonFile) -> Known | None:
    """The default that a signature gives, of a function that typer or fire calls with what was asked for."""
    if not _is_called_by_parser(function, file):
        return None
    positional = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip([one.arg for one in positional][::-1], function.args.defaults[::-1], strict=False))
    defaults |= {
        one.arg: value for one, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if value
    }
    return default_of_field(defaults[name], name) if name in defaults else None


def _is_called_by_parser(function: ast.FunctionDef | ast.AsyncFunctionDef, file: PythonFile) -> bool:
    data = file.source.data
    if b"typer" in data:
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(called, ast.Attribute) and called.attr in _COMMANDS:
                return True
    if function.decorator_list or not (b"typer.run(" in data or b"Fire(" in data):
        return False
    started = re.compile(rb"\b(?:typer\.run|fire\.Fire|Fire)\(\s*(?:\)|%b\b)" % re.escape(function.name.encode()))
    return started.search(data) is not None
