"""Which calls of the project's own CUDA operators run only where an option asks for them."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from npuify.engine.parsing import parse_file
from npuify.rules.common.defaults.conditions import only_with
from npuify.rules.context import PythonFile
from npuify.source.parser_warnings import without_warnings
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from npuify.analysis.project import ProjectIndex
    from npuify.engine.programs.ways import Once
    from npuify.model import NativeOperator
    from npuify.rules.run import Run


def with_switches(operators: Sequence[NativeOperator], run: Run, once: Once) -> tuple[NativeOperator, ...]:
    """Operators, each with the calls that do not run by default.

    Args:
        operators: those of the project.
        run: what the scan is about.
        once: gives answers that rest on files alone, as :meth:`npuify.engine.kept.standing.Standing.once` does.
    """
    asked = [one for one in operators if one.calls and one.difficulty != "host" and not one.has_npu]
    lines: dict[str, set[int]] = {}
    for place in (place for one in asked for place in one.calls):
        relative, _, line = place.rpartition(":")
        lines.setdefault(relative, set()).add(int(line))
    switches = {
        relative: once(
            f"switches {relative} {sorted(at)}", dict[int, str], run.project, partial(_switches, relative, at, run)
        )
        for relative, at in lines.items()
    }
    return tuple(
        msgspec.structs.replace(one, switched=tuple(_switched(one.calls, switches)))
        if one.calls and one.difficulty != "host" and not one.has_npu
        else one
        for one in operators
    )


def _switched(calls: Sequence[str], switches: Mapping[str, Mapping[int, str]]) -> Iterator[tuple[str, str]]:
    for place in calls:
        relative, _, line = place.rpartition(":")
        switch = switches[relative].get(int(line), "")
        if switch:
            yield place, switch


def _switches(relative: str, lines: Set[int], run: Run, project: ProjectIndex) -> dict[int, str]:
    """Those of the calls on some lines of a file."""
    run = run._replace(project=project)
    try:
        with without_warnings():
            file = PythonFile(parse_file(relative, Text(project.read(relative)), run), run)
    except (OSError, SyntaxError, UnreadableText, RecursionError):
        return {}
    return {line: switch for line in sorted(lines) if (switch := _switch_at(line, file))}


def _switch_at(line: int, file: PythonFile) -> str:
    """That of a line's calls, where all that is called there waits for one."""
    nodes: list[ast.AST] = []
    file.source.visit([line], nodes.append)
    switches = [only_with(node, file) for node in nodes if isinstance(node, ast.Call) and node.lineno == line]
    return switches[0] if switches and all(switches) else ""
