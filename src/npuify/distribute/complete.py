"""Programs that run in many processes already: what they lack is added, or said. Nothing of theirs is taken away.

Only edits after which no process waits for another are made here, since what runs on some ranks only cannot be told for
certain in a program that was written by hand.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.analysis.values import Kind
from npuify.distribute.changes.data import set_epoch_of, share_out_one
from npuify.distribute.changes.rank_zero import only_once
from npuify.distribute.edits import Unprovable
from npuify.language import phrase
from npuify.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.loops import Loops, Pass
    from npuify.distribute.reading.program import Program, Unit

_GROUP = frozenset(("torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group"))
_WRAPPER = frozenset(
    (
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
    )
)
_SET_DEVICE = frozenset(("torch.npu.set_device", "torch.cuda.set_device", "torch_npu.npu.set_device"))
_SPAWN = frozenset(("torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn"))
_RANK: Final = re.compile(r"rank|master|main_proc|is_main|primary|is_chief|gpu", re.IGNORECASE)
_OPTIONS = frozenset(("--local_rank", "--local-rank"))


def can_complete(program: Program) -> bool:
    """Whether a program joins a process group and wraps its model by PyTorch's own means."""
    names = {unit.qualname(node.func) for unit in program.units for node in unit.nodes if isinstance(node, ast.Call)}
    return bool(names & _GROUP) and bool(names & _WRAPPER)


def complete(program: Program, loops: Loops, draft: Draft) -> None:
    """Add what a distributed program lacks, as far as that can be proven; say the rest."""
    calls = [(node, unit) for unit in program.units for node in unit.nodes if isinstance(node, ast.Call)]
    names = {unit.qualname(node.func) for node, unit in calls}
    for node, unit in calls:
        name = unit.qualname(node.func)
        if name in _GROUP and not names & _SET_DEVICE and not any(one.arg == "device_id" for one in node.keywords):
            if not _take_card_of_spawn(node, unit, program, draft):
                draft.left(
                    "NPU350",
                    unit,
                    node,
                    "no process selects its card before joining the group",
                    'add before it: torch.npu.set_device(int(os.environ["LOCAL_RANK"]))',
                )
        if name in _GROUP and "torch.distributed.destroy_process_group" not in names:
            draft.left(
                "NPU350",
                unit,
                node,
                "the group is never destroyed, so HCCL's resources stay allocated until the process exits",
                "call torch.distributed.destroy_process_group() at the end, in a finally block",
                Severity.WARNING,
            )
        if name in _WRAPPER and not any(one.arg == "device_ids" for one in node.keywords) and len(node.args) < 2:
            draft.left(
                "NPU351",
                unit,
                node,
                "DistributedDataParallel does not get the model's card",
                "add device_ids=[local_rank] if the model is on a card",
                Severity.WARNING,
            )
        _read_local_rank(node, unit, draft)
    sets_epoch = any(isinstance(node.func, ast.Attribute) and node.func.attr == "set_epoch" for node, _ in calls)
    for one in loops.passes:
        if one.trains and one.loaders:
            _complete_data(one, program, loops, draft, sets_epoch=sets_epoch)
        elif not one.trains and one.loaders:
            draft.left(
                "NPU355",
                one.unit,
                one.node,
                "it is unknown whether this evaluation's results cover all processes",
                "either the processes together evaluate each sample once, or each evaluates all; sums must be reduced",
                Severity.INFO,
            )
    only_once(program, draft, unless=lambda node, unit: _on_rank_0(node, unit, program), waits=False)


def _complete_data(one: Pass, program: Program, loops: Loops, draft: Draft, *, sets_epoch: bool) -> None:
    has_sampler = True
    for loader in one.loaders:
        maker = program.maker(loader)
        call = maker[0] if maker is not None else None
        given = [word.arg for word in call.keywords] if isinstance(call, ast.Call) else ["sampler"]
        if not {"sampler", "batch_sampler", None}.intersection(given):
            has_sampler = False
            share_out_one(loader, one, program, draft, keep=False)
    if not sets_epoch or not has_sampler:
        set_epoch_of(one, program, loops, draft)


def _take_card_of_spawn(node: ast.Call, unit: Unit, program: Program, draft: Draft) -> bool:
    """Take the card before the group is joined, where ``mp.spawn`` gives the function its number."""
    function = unit.function_around(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not function.args.args:
        return False
    number, place = function.args.args[0].arg, unit.place(function)
    given = next((one.value for one in node.keywords if one.arg == "rank"), None)
    spawned = any(
        isinstance(call, ast.Call)
        and where.qualname(call.func) in _SPAWN
        and call.args
        and any(one.definition == place for one in program.of_kind(call.args[0], where, Kind.FUNCTION))
        for where in program.units
        for call in where.nodes
    )
    if not spawned or not isinstance(given, ast.Name) or given.id != number:
        return False
    text = f"torch.npu.set_device({number})"
    if unit.source.scope.names.get("torch") is None:
        return False
    try:
        edit = draft.editor(unit).directly_before(unit.statement(node), text)
    except Unprovable:
        return False
    draft.done("NPU350", unit, node, "each process selects its card before joining the group", [edit], helper=False)
    return True


def _read_local_rank(node: ast.Call, unit: Unit, draft: Draft) -> None:
    """An option that torch.distributed.launch passed comes from the environment under torchrun."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "add_argument":
        return
    options = {item.value for item in node.args if isinstance(item, ast.Constant)}
    default = next((one.value for one in node.keywords if one.arg == "default"), None)
    if not options & _OPTIONS or (default is not None and not isinstance(default, (ast.Constant, ast.UnaryOp))):
        return
    message = "torchrun passes no --local_rank: the value comes from the environment"
    text = 'int(os.environ.get("LOCAL_RANK", 0))'
    editor = draft.editor(unit)
    try:
        edits = [editor.replace(default, text) if default is not None else editor.argument(node, f"default={text}")]
        if unit.source.scope.names.get("os") is None:
            imports = [one for one in unit.source.tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]
            plain = [one for one in imports if getattr(one, "module", "") != "__future__"]
            if not plain:
                raise Unprovable(node, phrase("import os, and use default={text}", text=text))
            edits.append(editor.before(plain[0], "import os"))
        draft.done("NPU350", unit, node, message, edits, helper=False)
    except Unprovable as problem:
        draft.left("NPU350", unit, node, message, problem.message)


def _on_rank_0(node: ast.AST, unit: Unit, program: Program, hops: int = 5) -> bool:
    """Whether code stands under a condition about the rank, there or where its function is called."""
    for test in _conditions(node, unit):
        if _RANK.search(unit.source.code(test)):
            return True
    function = unit.function_around(node)
    calls = program.callers(function)
    if isinstance(function, ast.Module) or not calls or not hops:
        return False
    return all(_on_rank_0(call, where, program, hops - 1) for call, where in calls)


def _conditions(node: ast.AST, unit: Unit) -> Iterator[ast.expr]:
    current = node
    for up in unit.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)):
            yield up.test
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # `if rank != 0: return` above it counts, too.
            for statement in up.body:
                if isinstance(statement, ast.If) and statement.lineno < getattr(current, "lineno", 0):
                    if any(isinstance(one, ast.Return) for one in statement.body):
                        yield statement.test
            return
        current = up
