"""When a process selects its card: before anything reaches one."""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.engine import Reach
from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.context import PythonFile
from npuify.rules.registry import rule
from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.diagnostic import Diagnostic

_SET_DEVICE = frozenset(
    ("torch.cuda.set_device", "torch.npu.set_device", "torch_npu.npu.set_device", "torch.accelerator.set_device_index")
)


def is_set_device(name: str | None, file: PythonFile) -> bool:
    """Whether a function chooses the process's card, in any of the styles' spellings."""
    return name in _SET_DEVICE or file.plan.of_helper(name) == "api.set_device"


@rule(
    "NPU311",
    "set-device-after-init",
    Safety.MANUAL,
    Severity.WARNING,
    words=("init_process_group",),
    evidence=Evidence.DOCUMENTED,
    source="Ascend's migration guide: set_device comes before init_process_group; Ascend/pytorch, "
    "ProcessGroupHCCL.cpp: collectives call getHCCLComm, the constructor does not",
)
def set_device_after_init(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The process group is created before the process has selected its card.

    Until then every process uses card 0. HCCL opens its communicator with the first collective, on the card that is
    selected then: where a barrier or anything else that reaches a card comes between the two calls, all processes open
    it on card 0. Where surely nothing does, this is a note.
    """
    if file.qualname(node.func) not in (
        "torch.distributed.init_process_group",
        "torch.distributed.distributed_c10d.init_process_group",
    ):
        return
    before, behind = _around(node, file)
    if any(_sets_device(statement, file) for statement in before):
        return
    late = next((statement for statement in behind if _sets_device(statement, file)), None)
    if any(keyword.arg == "device_id" for keyword in node.keywords):
        return
    if late is None:
        yield from _set_by_another_function(node, behind, file)
        return
    if isinstance(late, ast.Expr) and isinstance(late.value, ast.Call) and _is_for_npu(late.value):
        return
    between = behind[: behind.index(late)]
    if late.lineno - node.lineno > 30 or _needs_group(late) or any(_defines(item, late) for item in between):
        return
    yield file.report(
        node,
        phrase("set_device comes after init_process_group (line {lineno})", lineno=late.lineno),
        subject="torch.distributed.init_process_group",
        advice="call set_device(local_rank) first",
        severity=None if any(_may_reach_card(item, file) for item in between) else Severity.INFO,
    )


def _set_by_another_function(node: ast.Call, behind: list[ast.stmt], file: PythonFile) -> Iterator[Diagnostic]:
    """As :func:`set_device_after_init`, where who calls this function calls another that selects the card, later."""
    function = next((up for up in file.ancestors(node) if isinstance(up, ast.FunctionDef)), None)
    sites = _calls_of(function, file) if function is not None else []
    if len(sites) != 1:
        return
    before, after = _around(sites[0], file)
    if any(_setting(statement, file) for statement in before):
        return
    late = next(((statement, found) for statement in after if (found := _setting(statement, file))), None)
    if late is None or _needs_group(late[1]) or _needs_group(late[0]):
        return
    if isinstance(late[1], ast.Expr) and isinstance(late[1].value, ast.Call) and _is_for_npu(late[1].value):
        return
    between = [*behind, *after[: after.index(late[0])]]
    yield file.report(
        node,
        phrase("set_device comes after init_process_group (line {lineno})", lineno=late[1].lineno),
        subject="torch.distributed.init_process_group",
        advice="call set_device(local_rank) first",
        severity=None if any(_may_reach_card(item, file) for item in between) else Severity.INFO,
    )


def _calls_of(function: ast.FunctionDef, file: PythonFile) -> list[ast.Call]:
    """Where a file calls one of its functions by name."""
    calls = []
    for name in file.model.references(function.name):
        call = file.model.parent(name)
        if isinstance(name, ast.Name) and isinstance(call, ast.Call) and call.func is name:
            calls.append(call)
    return calls


def _setting(statement: ast.stmt, file: PythonFile) -> ast.stmt | None:
    """The statement that selects the card: this one, or one at the top of the function that it calls."""
    if _sets_device(statement, file):
        return statement
    value = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    called = file.function(value.func) if isinstance(value, ast.Call) else None
    body = called.body if isinstance(called, ast.FunctionDef) else []
    return next((inner for inner in body if _sets_device(inner, file)), None)


_PLAIN_MODULES: Final = ("os.", "sys.", "json.", "time.", "random.", "logging.", "pathlib.", "numpy.", "warnings.")
_WITHOUT_CARD: Final = frozenset(
    f"torch.{name}"
    for name in "manual_seed distributed.get_rank distributed.get_world_size distributed.is_initialized "
    "distributed.is_available cuda.device_count cuda.is_available npu.device_count npu.is_available device".split()
)
_OF_LIBRARIES: Final = ("torchvision.models.", "torch.nn.")
_DEVICE_WORDS: Final = (b"cuda", b"npu", b"device", b".to(")
_OF_FILES_AND_TEXT: Final = frozenset(
    "open write mkdir join format info debug warning append close flush split strip startswith parse_args".split()
)
"""Methods of files, paths, texts and loggers, whatever they are called on."""
_REACHES_CARD: Final = re.compile(r"cuda|npu|device|dist|\.to\(|gpu|comm|barrier|sync|\w\(\*")


def _may_reach_card(statement: ast.stmt, file: PythonFile) -> bool:
    """Whether a statement may use a card or the process group, for all that is known of what it calls."""
    return any(
        isinstance(item, (ast.With, ast.AsyncWith)) or (isinstance(item, ast.Call) and not _keeps_off_cards(item, file))
        for item in ast.walk(statement)
    )


def _keeps_off_cards(call: ast.Call, file: PythonFile) -> bool:
    name = file.qualname(call.func) or ""
    if name.startswith(_PLAIN_MODULES) or name in _WITHOUT_CARD:
        return True
    if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_FILES_AND_TEXT:
        return True
    called = file.function(call.func)
    if called is not None:
        return not _REACHES_CARD.search(file.code(called))
    if _makes_model_on_host(call, file):
        return True
    return isinstance(call.func, ast.Name) and hasattr(builtins, call.func.id) and not file.assigned(call.func)


def _makes_model_on_host(call: ast.Call, file: PythonFile) -> bool:
    """Whether a call surely gives a model made on the host: a library's, or one of a file that names no device."""
    made = file.values(call, Reach.IMPORTS)
    if not made.only(Kind.MODEL) or any(keyword.arg == "device" for keyword in call.keywords):
        return False
    for value in made:
        if value.definition is None:
            if not value.name.startswith(_OF_LIBRARIES):
                return False
            continue
        other = PythonFile.of_project(value.definition.file, file.run, is_stored=False)
        if other is None or any(map(other.contains, _DEVICE_WORDS)):
            return False
    return True


def _around(node: ast.AST, file: PythonFile) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements that run before and after a node's, also around the ``try`` or ``with`` that it stands in."""
    before: list[ast.stmt] = []
    behind: list[ast.stmt] = []
    current: ast.AST = node
    for up in file.ancestors(node):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(up, field, None)
            if isinstance(statements, list) and current in statements:
                index = statements.index(current)
                before, behind = [*statements[:index], *before], [*behind, *statements[index + 1 :]]
        if isinstance(current, ast.stmt) and not isinstance(up, (ast.Try, ast.With)):
            break
        current = up
    return before, behind


def _is_for_npu(call: ast.Call) -> bool:
    """Whether the program chooses an NPU itself: it was written for NPUs, and its authors have seen it run."""
    return (dotted_text(call.func) or "").startswith(("torch.npu.", "torch_npu."))


def _sets_device(statement: ast.stmt, file: PythonFile) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and is_set_device(dotted_text(call.func), file)


def _needs_group(statement: ast.stmt) -> bool:
    """Whether the device is worked out with the group's help, which must then come first."""
    return any(
        isinstance(item, ast.Attribute) and item.attr in ("get_rank", "get_world_size") for item in ast.walk(statement)
    )


def _defines(statement: ast.stmt, late: ast.stmt) -> bool:
    """Whether a statement assigns a name that the call of set_device uses."""
    used = {item.id for item in ast.walk(late) if isinstance(item, ast.Name)}
    return any(
        isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store) and item.id in used
        for item in ast.walk(statement)
    )
