"""Launchers under which vLLM spawns its processes, and programs that make the engine when they are imported."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.model import Finding
    from npuify.rules.text_file import TextFile

METHOD: Final = "VLLM_WORKER_MULTIPROC_METHOD"
_ENGINE: Final = frozenset(("LLM", "AsyncLLMEngine", "LLMEngine", "AsyncLLM"))
_MAKERS: Final = frozenset(("from_engine_args", "from_vllm_config"))
_IMPORTS: Final = re.compile(rb"^[ \t]*(?:from|import)[ \t]+vllm\b", re.MULTILINE)


@listed(
    "NPU981",
    "vllm-engine-on-import",
    Safety.MANUAL,
    Severity.ERROR,
    example_file="run.sh",
    evidence=Evidence.PACKAGE,
    source="vllm 0.23.0: vllm/utils/system_utils.py, get_mp_context; Python's documentation of multiprocessing, spawn",
)
def SPAWNED(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A launcher lets vLLM spawn its processes, and the program makes the engine when it is imported.

    Each spawned process imports the program again, which makes the next engine there: Python stops it with an error
    about the bootstrapping phase. ``fork`` becomes ``spawn`` for an NPU, so that it is told with that, too.
    """
    raise NotImplementedError


def judge_spawned_programs(
    settings: Iterable[tuple[str, str | None, tuple[int, int]]], programs: Iterable[str], file: TextFile
) -> None:
    """Report where a script sets the method of vLLM's processes for a program that may not be imported twice.

    Args:
        settings: the script's variables: name, value, and place.
        programs: the project's programs that it starts.
        file: gets the findings.
    """
    place = next((at for name, value, at in settings if name == METHOD and value in ("spawn", "fork")), None)
    if place is None or "vllm" in file.run.project.packages:
        return
    for program in programs:
        line = engine_on_import(_content(program, file)) if program else 0
        if line:
            file.report(
                SPAWNED,
                place,
                phrase(
                    "vLLM's processes import {program} again, and its line {line} makes an engine on import",
                    program=program,
                    line=line,
                ),
                subject=f"vllm: {METHOD}",
                advice='put what runs there below if __name__ == "__main__":',
            )


def _content(program: str, file: TextFile) -> bytes:
    try:
        return file.run.project.read(program)
    except OSError:
        return b""


def engine_on_import(data: bytes) -> int:
    """The first line that makes an engine of vLLM's wherever the module is imported; 0 where none does."""
    if _IMPORTS.search(data) is None:
        return 0
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return 0
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            pending += reversed(node.orelse)
            continue
        if isinstance(node, ast.Call) and _makes_engine(node.func):
            return node.lineno
        pending += reversed(list(ast.iter_child_nodes(node)))
    return 0


def _makes_engine(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _ENGINE
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in _MAKERS:
        return isinstance(function.value, (ast.Name, ast.Attribute)) and (
            getattr(function.value, "id", getattr(function.value, "attr", "")) in _ENGINE
        )
    return function.attr in _ENGINE and isinstance(function.value, ast.Name) and function.value.id == "vllm"
