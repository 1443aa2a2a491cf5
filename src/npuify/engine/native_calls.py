"""Which calls of the project's own CUDA operators run only where an option asks for them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from npuify.engine.parsing import parse_file
from npuify.rules.common.defaults.conditions import only_with
from npuify.rules.context import PythonFile
from npuify.source.parser_warnings import without_warnings
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import NativeOperator
    from npuify.rules.run import Run


def with_switches(operators: Sequence[NativeOperator], run: Run) -> tuple[NativeOperator, ...]:
    """Operators, each with the calls that do not run by default.

    Args:
        operators: those of the project.
        run: what the scan is about.
    """
    files: dict[str, PythonFile | None] = {}
    return tuple(
        msgspec.structs.replace(one, switched=_switched(one.calls, run, files))
        if one.calls and one.difficulty != "host" and not one.has_npu
        else one
        for one in operators
    )


def _switched(calls: Sequence[str], run: Run, files: dict[str, PythonFile | None]) -> tuple[tuple[str, str], ...]:
    found = []
    for place in calls:
        relative, _, line = place.rpartition(":")
        if relative not in files:
            files[relative] = _opened(relative, run)
        file = files[relative]
        switch = _switch_at(int(line), file) if file is not None else ""
        if switch:
            found.append((place, switch))
    return tuple(found)


def _opened(relative: str, run: Run) -> PythonFile | None:
    try:
        with without_warnings():
            text = Text((Path(run.project.root) / relative).read_bytes())
            return PythonFile(parse_file(relative, text, run), run)
    except (OSError, SyntaxError, UnreadableText, RecursionError):
        return None


def _switch_at(line: int, file: PythonFile) -> str:
    """That of a line's calls, where all that is called there waits for one."""
    nodes: list[ast.AST] = []
    file.source.visit([line], nodes.append)
    switches = [only_with(node, file) for node in nodes if isinstance(node, ast.Call) and node.lineno == line]
    return switches[0] if switches and all(switches) else ""
