"""Whether a program that is started by itself has a process group: what runs only in several processes.

A program that creates its group in any case, also for one process, has one; so has one whose group a library creates.
"""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.language import phrase
from npuify.rules.common.defaults.options import Known
from npuify.rules.context import PythonFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.run import Run

    OnlyWith = Callable[[ast.AST, PythonFile], str]
    Evaluate = Callable[[ast.expr, PythonFile], Known | None]

_CREATES: Final = "init_process_group"
_ALONE: Final = {
    "torch.distributed.is_initialized": False,
    "torch.distributed.get_world_size": 1,
    "torch.distributed.get_rank": 0,
    "torch.distributed.distributed_c10d.is_initialized": False,
}
"""Questions about the group → the answer where there is none, or where a function of the project stands for it."""
_CREATED_BY_LIBRARIES: Final = (
    *(b"import %s" % name for name in (b"deepspeed", b"colossalai")),
    *(b"from %s" % name for name in (b"deepspeed", b"colossalai")),
    b"init_device_mesh",
    b"DeviceMesh(",
)
"""Texts of a project in which a library creates the group, also for one process. Lightning, accelerate and
transformers create none for a single one."""
_MOST_FILES: Final = 8
"""Files that create groups; of a project with more nothing is known."""
_ASKS: Final = re.compile(r"(?i).*(?:dist|rank|world|master|main_proc|process|multi_?gpu|initialized).*")
"""Names of functions that answer such a question."""
_LONGEST: Final = 12
"""Statements of such a function."""
_EVERYWHERE: Final = frozenset(
    "HOME PATH USER LOGNAME SHELL PWD LANG TERM TMPDIR TMP TEMP PYTHONPATH LD_LIBRARY_PATH HOSTNAME DISPLAY".split()
)
"""Variables that a machine may have without anybody asking for anything."""


_BEING_ASKED: Final = "whether there is a process group"


def of_group(name: str, file: PythonFile, only_with: OnlyWith) -> Known | None:
    """What a question about the process group is answered where a program is started by itself; None: not known.

    Args:
        name: the qualified name of what is called.
        file: the file that asks.
        only_with: the option without which a place does not run.
    """
    if name == "torch.distributed.is_available":
        return Known(True, "")
    if name not in _ALONE:
        return None
    remembered = file.project.remembered
    if remembered.get(_BEING_ASKED):
        # What creates the group itself waits for the answer: ``if not is_initialized(): init_process_group()``.
        return None
    remembered[_BEING_ASKED] = True
    try:
        has_none = file.project.once(("process-group", "none"), partial(_has_none, file.run, only_with))
    finally:
        remembered[_BEING_ASKED] = False
    return Known(_ALONE[name], phrase("several processes")) if has_none else None


def of_own_function(node: ast.Call, file: PythonFile, evaluate: Evaluate) -> Known | None:
    """What ``is_main_process()`` or ``get_world_size()`` of the project gives, where its statements tell.

    Args:
        node: a call without arguments.
        file: the file that calls.
        evaluate: what an expression is with all options at their defaults.
    """
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if node.args or node.keywords or not _ASKS.fullmatch(called):
        return None
    found = file.reaching(Reach.IMPORTS).callees(node, file.model)
    home, function = found[0] if len(found) == 1 else (file.model, None)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list or len(function.body) > _LONGEST:
        return None
    own = file if home is file.model else PythonFile.of_project(home.relative, file.run)
    return _returned(function.body, own, evaluate) if own is not None else None


def of_environment(variable: str) -> Known | None:
    """What ``"RANK" in os.environ`` is where a program is started by itself."""
    if variable in _EVERYWHERE or not variable:
        return None
    return Known(False, phrase("the variable {value}", value=variable))


def _returned(body: list[ast.stmt], file: PythonFile, evaluate: Evaluate) -> Known | None:
    """What statements return, by way of conditions that are known; None where one is not, or more is done."""
    switch = ""
    pending = list(body)
    while pending:
        statement = pending.pop(0)
        if isinstance(statement, ast.Return) and statement.value is not None:
            known = evaluate(statement.value, file)
            return known and Known(known.value, known.switch or switch)
        if isinstance(statement, ast.If):
            known = evaluate(statement.test, file)
            if known is None:
                return None
            switch = switch or known.switch
            pending = [*(statement.body if known.value else statement.orelse), *pending]
        elif not isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass)) and not (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            return None
    return None


def _has_none(run: Run, only_with: OnlyWith, project: ProjectIndex) -> bool:
    """Whether each place that creates a group waits for an option or variable, and no library may create one."""
    creating = project.files_with(_CREATES.encode())
    if not 0 < len(creating) <= _MOST_FILES or any(project.files_with(word) for word in _CREATED_BY_LIBRARIES):
        return False
    places = [place for relative in creating for place in _places(relative, run._replace(project=project))]
    return bool(places) and all(file is not None and only_with(node, file) for node, file in places)


def _places(relative: str, run: Run) -> Iterator[tuple[ast.AST, PythonFile | None]]:
    file = PythonFile.of_project(relative, run)
    if file is None:
        if relative.endswith(".py"):
            yield ast.Pass(), None
        return
    for node in file.nodes_on_lines_with(_CREATES):
        if isinstance(node, ast.Call) and _is_creating(node.func):
            yield node, file


def _is_creating(function: ast.expr) -> bool:
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) == _CREATES
