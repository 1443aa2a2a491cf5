"""Options that name a device among their choices: what users then give, and what the option's help says."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.rules.option_syntax import choices_of, declares_option, name_of

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile

_ALONE = re.compile(r"(?<![\w.:/\\-])cuda(?![\w:/\\-]|\.\w)")
"""The name of the device as a word of its own: no part of a path, of a number of a card or of another name."""


def option_of_choice(node: ast.expr, file: PythonFile) -> ast.Call | None:
    """The call of ``add_argument`` that has ``node`` among the choices that it lists; else None."""
    for up in file.ancestors(node):
        if isinstance(up, ast.stmt):
            return None
        if isinstance(up, ast.Call):
            is_option = name_of(up.func) in ("add_argument", "option") and node in choices_of(up)
            if is_option:
                return up
            if name_of(up.func) != "Choice":
                return None
    return None


def option_name(option: ast.Call) -> str:
    """How the option is given: ``--device``; empty for one that has no name of its own."""
    names = [one.value for one in option.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return next((name for name in names if declares_option(option, name) and name.startswith("--")), "")


def help_edits(option: ast.Call, file: PythonFile) -> list[Edit]:
    """Edits of the device's name where the help of the option has it as a word of its own.

    Help in several pieces, or in an f-string, is edited in none: an escape may stand in the place of a letter there.
    """
    text = next((one.value for one in option.keywords if one.arg == "help"), None)
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        return []
    start, end = file.source.start(text), file.source.end(text)
    written = file.source.data[start:end].decode(errors="replace")
    found = list(_ALONE.finditer(written))
    if len(found) != len(_ALONE.findall(text.value)) or not written.isascii():
        return []
    return [file.edit(start + one.start(), start + one.end(), "npu") for one in found]
