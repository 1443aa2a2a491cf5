"""Training practice: what is wrong or slow on every device, and shows when a program moves to another one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.calls import argument, imports_torch, keyword_of
from npuify.rules.registry import rule
from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DOCUMENTATION = "PyTorch's documentation"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _function(node: ast.AST, file: PythonFile) -> ast.AST:
    """The nearest function around a node, or the module."""
    return next((up for up in file.ancestors(node) if isinstance(up, _FUNCTIONS)), file.source.tree)


def _calls(node: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a node, with their last names, in no certain order."""
    for item in ast.walk(node):
        if isinstance(item, ast.Call):
            if isinstance(item.func, ast.Attribute):
                yield item.func.attr, item
            elif isinstance(item.func, ast.Name):
                yield item.func.id, item


def _body(node: ast.AST, file: PythonFile) -> tuple[list[ast.stmt], ast.stmt | None, ast.AST | None]:
    """The list of statements that a node's statement stands in, that statement, and what holds the list."""
    current: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(current, ast.stmt):
            for field in ("body", "orelse", "finalbody"):
                statements = getattr(up, field, None)
                if isinstance(statements, list) and current in statements:
                    return statements, current, up
        current = up
    return [], None, None


_CLOCKS = ("time.time", "time.perf_counter", "timeit.default_timer")
_WAITING = frozenset(("synchronize", "item", "cpu", "tolist", "numpy", "print", "barrier", "wait"))
_STEPS = frozenset(("backward", "forward", "model", "net", "network"))
_KNOWN = _STEPS | {"criterion", "loss_fn", "loss", "loss_function"}
"""Functions, called by a plain name, of which it is known that they do not wait."""


@rule(
    "NPU801",
    "timed-without-synchronize",
    Safety.MANUAL,
    Severity.INFO,
    words=("= time.time()", "= perf_counter()", "= time.perf_counter()", "= timeit.default_timer()"),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION} on asynchronous execution; torch_npu queues operators as CUDA does",
)
def timed_without_synchronize(node: ast.Assign, file: PythonFile) -> Iterator[Diagnostic]:
    """A clock is read before and after work on the device, and nothing waits for the device.

    What is measured is how fast the host queues operators. That differs between devices more than the work itself does.
    """
    if len(node.targets) != 1 or not imports_torch(file):
        return
    value = node.value
    if not isinstance(value, ast.Call) or file.qualname(value.func) not in _CLOCKS:
        return
    started = dotted_text(node.targets[0])
    statements, own, _ = _body(value, file)
    if started is None or own is not node:
        return
    worked = False
    for statement in statements[statements.index(node) + 1 :]:
        named = {name for name, _ in _calls(statement)}
        stops = any(
            isinstance(item, ast.BinOp)
            and isinstance(item.op, ast.Sub)
            and dotted_text(item.right) == started
            and isinstance(item.left, ast.Call)
            for item in ast.walk(statement)
        )
        if stops:
            if worked:
                yield file.report(
                    value,
                    f"the time until line {statement.lineno} is taken without waiting for the device",
                    subject="torch.cuda.synchronize",
                    advice="call torch.npu.synchronize() before each reading of the clock, or use torch.npu.Event",
                )
            return
        plain = {call.func.id for _, call in _calls(statement) if isinstance(call.func, ast.Name)}
        if named & _WAITING or plain - _KNOWN or isinstance(statement, (*_FUNCTIONS, ast.ClassDef, *_LOOPS)):
            return
        worked = worked or bool(named & _STEPS)


@rule(
    "NPU802",
    "pin-memory-without-workers",
    Safety.MANUAL,
    Severity.INFO,
    words=("pin_memory=true",),
    evidence=Evidence.DOCUMENTED,
    source="document on data loading: pinning pays when workers load ahead",
)
def pin_memory_without_workers(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A DataLoader pins memory and has no workers, so that loading, pinning and computing take turns."""
    if not _is_loader(node, file) or any(keyword.arg is None for keyword in node.keywords):
        return
    pinned = keyword_of(node, "pin_memory")
    workers = argument(node, 5, "num_workers")
    if not (isinstance(pinned, ast.Constant) and pinned.value is True):
        return
    if workers is not None and not (isinstance(workers, ast.Constant) and workers.value == 0):
        return
    yield file.report(
        node,
        "pin_memory=True with no workers: the host loads and pins while the NPU waits",
        subject="torch.utils.data.DataLoader",
        advice="set num_workers to a few a card, with persistent_workers=True, and copy with non_blocking=True",
    )


def _is_loader(node: ast.Call, file: PythonFile) -> bool:
    return file.qualname(node.func) in ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")


@rule(
    "NPU803",
    "collate-to-device",
    Safety.MANUAL,
    Severity.WARNING,
    words=("collate_fn=",),
    common_words=True,
    evidence=Evidence.REPORTED,
    source="users' reports: 'Cannot re-initialize NPU in forked subprocess'",
)
def collate_to_device(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A collate function puts tensors on the device, and runs in worker processes.

    Workers are forked from a process that uses the NPU already, and cannot use it themselves.
    """
    if not _is_loader(node, file):
        return
    workers = argument(node, 5, "num_workers")
    collate = keyword_of(node, "collate_fn")
    if workers is None or (isinstance(workers, ast.Constant) and workers.value == 0):
        return
    body: ast.AST | None = collate if isinstance(collate, ast.Lambda) else None
    if isinstance(collate, ast.Name):
        found = file.scope(node).lookup(collate.id)
        if found is not None and len(found[1]) == 1 and isinstance(found[1][0].node, _FUNCTIONS):
            body = found[1][0].node
    if body is None:
        return
    for name, call in _calls(body):
        place = call.args[0] if call.args else None
        word = dotted_text(place) or (place.value if isinstance(place, ast.Constant) else "") if place else ""
        to_device = name == "to" and isinstance(word, str) and word.rpartition(".")[2].startswith(("device", "cuda"))
        if isinstance(call.func, ast.Attribute) and (name in ("cuda", "npu") or to_device):
            yield file.report(
                collate if collate is not None else node,
                f"the collate function moves tensors to the device (line {call.lineno}), in worker processes",
                subject="torch.utils.data.DataLoader",
                advice="return tensors on the CPU and move the batch in the training loop, with non_blocking=True",
            )
            return


@rule(
    "NPU804",
    "clip-before-unscale",
    Safety.MANUAL,
    Severity.WARNING,
    words=("clip_grad_norm",),
    also_in_file=("scaler",),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION}, automatic mixed precision examples: unscale before clipping",
)
def clip_before_unscale(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Gradients are clipped while they still carry the loss scale, so that nearly all of them are cut to nothing.

    Reported where the same block steps by a scaler and nothing there unscales first.
    """
    word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if not word.startswith("clip_grad_norm") or not imports_torch(file):
        return
    statements, own, holder = _body(node, file)
    if not _scaled(statements, own) and isinstance(holder, ast.If):
        # The clipping often stands under an ``if``; the steps around it are then one level further out.
        statements, own, _ = _body(holder, file)
    if not _scaled(statements, own):
        return
    function = _function(node, file)
    if any(name in ("unscale_", "unscale") for name, _ in _calls(function)):
        return
    yield file.report(
        node,
        "gradients are clipped before the scaler has unscaled them",
        subject="torch.amp.GradScaler.unscale_",
        advice="call scaler.unscale_(optimizer) before clipping",
    )


def _scaled(statements: list[ast.stmt], own: ast.stmt | None) -> bool:
    """Whether ``scaler.scale(loss).backward()`` stands before, and ``scaler.step(...)`` behind, a statement."""
    if own is None or own not in statements:
        return False
    place = statements.index(own)
    before = any(
        name == "backward"
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Call)
        and isinstance(call.func.value.func, ast.Attribute)
        and call.func.value.func.attr == "scale"
        for statement in statements[:place]
        for name, call in _calls(statement)
    )
    after = any(
        name == "step" and isinstance(call.func, ast.Attribute) and "scaler" in (dotted_text(call.func) or "").lower()
        for statement in statements[place:]
        for name, call in _calls(statement)
    )
    return before and after


@rule(
    "NPU805",
    "scheduler-before-optimizer",
    Safety.MANUAL,
    Severity.WARNING,
    words=("scheduler.step()", "sched.step()"),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION} of torch.optim: since 1.1 the scheduler steps after the optimiser",
)
def scheduler_before_optimizer(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A loop steps the learning-rate scheduler first and the optimiser later, so that the first rate is skipped."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "step" or node.args or node.keywords:
        return
    if "sched" not in (dotted_text(node.func.value) or "").lower() or not imports_torch(file):
        return
    statements, own, holder = _body(node, file)
    if own is None or not isinstance(own, ast.Expr) or not isinstance(holder, _LOOPS):
        return
    place = statements.index(own)
    if any(_steps_optimizer(statement) for statement in statements[:place]):
        return
    later = next((statement for statement in statements[place + 1 :] if _steps_optimizer(statement)), None)
    if later is None or any(name.startswith("train") for item in statements[:place] for name, _ in _calls(item)):
        return
    yield file.report(
        node,
        f"the scheduler steps before the optimiser (line {later.lineno}) in each round",
        subject="torch.optim.lr_scheduler",
        advice="step the scheduler after the optimiser; the schedule then starts with the first rate",
    )


def _steps_optimizer(statement: ast.stmt) -> bool:
    return any(
        name == "step"
        and isinstance(call.func, ast.Attribute)
        and any(part in (dotted_text(call.func.value) or "").lower() for part in ("optim", "scaler"))
        and "sched" not in (dotted_text(call.func.value) or "").lower()
        for name, call in _calls(statement)
    )


@rule(
    "NPU806",
    "set-epoch-missing",
    Safety.MANUAL,
    Severity.WARNING,
    words=("distributedsampler(",),
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION} of DistributedSampler: without set_epoch each epoch has the same order",
)
def set_epoch_missing(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A shuffling DistributedSampler is used for several epochs, and ``set_epoch`` is never called.

    Reported only where the loop over the epochs is in the same file.
    """
    name = file.qualname(node.func) or ""
    is_sampler = name.startswith("torch.utils.data.") and name.endswith(".DistributedSampler")
    if not is_sampler or file.contains(b"set_epoch"):
        return
    shuffle = argument(node, 3, "shuffle")
    if shuffle is not None and not (isinstance(shuffle, ast.Constant) and shuffle.value is True):
        return
    _, own, _ = _body(node, file)
    text = file.code(own).lower() if isinstance(own, (ast.Assign, ast.AnnAssign)) else ""
    if not text or any(word in text.partition("=")[0] for word in ("val", "test", "eval")):
        return
    data = file.source.data
    if b"for epoch in range(" not in data and b"for epoch in tqdm" not in data:
        return
    if any(word in argument_text(node, file) for word in ("val", "test", "eval")):
        return
    yield file.report(
        node,
        "the sampler's set_epoch is never called, so that each epoch has the same order",
        subject="torch.utils.data.distributed.DistributedSampler.set_epoch",
        advice="call sampler.set_epoch(epoch) first in each epoch",
    )


def argument_text(node: ast.Call, file: PythonFile) -> str:
    """The source of a call's first argument, in lower case."""
    return file.code(node.args[0]).lower() if node.args else ""


@rule(
    "NPU807",
    "load-without-map-location",
    Safety.MANUAL,
    Severity.INFO,
    words=("torch.load(",),
    common_words=True,
    evidence=Evidence.REPORTED,
    source="users' reports: 'Attempting to deserialize object on a CUDA device'",
)
def load_without_map_location(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.load`` without ``map_location`` puts tensors back on the device that they were saved from.

    A checkpoint saved on a GPU can then not be read on an NPU machine, and one saved on card 0 fills card 0 of each
    process.
    """
    if file.qualname(node.func) != "torch.load" or argument(node, 1, "map_location") is not None:
        return
    if any(keyword.arg is None for keyword in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        return
    yield file.report(
        node,
        "torch.load without map_location fails on an NPU machine where the file was saved from a GPU",
        subject="torch.load",
        advice='pass map_location="cpu", and move what was loaded',
    )


_GUARDS = ("rank", "main", "master", "primary", "chief", "zero", "leader", "save_on", "is_first", "distributed", "gpu")


@rule(
    "NPU808",
    "saved-by-every-rank",
    Safety.MANUAL,
    Severity.WARNING,
    words=("torch.save(",),
    also_in_file=("distributeddataparallel",),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION} of DistributedDataParallel: save in one process",
)
def saved_by_every_rank(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """All processes of a distributed program write one checkpoint file at once.

    Reported where the function that trains under DistributedDataParallel saves with nothing that asks for the rank.
    """
    if len(node.args) < 2 or file.qualname(node.func) != "torch.save":
        return
    function = _function(node, file)
    if not isinstance(function, _FUNCTIONS):
        return
    named = {name for name, _ in _calls(function)}
    if not named & {"DistributedDataParallel", "DDP"} or "save" in function.name.lower():
        return
    if "rank" in file.code(node.args[1]).lower():
        return
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)) and any(word in file.code(up.test).lower() for word in _GUARDS):
            return
        if up is function:
            break
    for item in function.body:
        if isinstance(item, ast.If) and item.lineno < node.lineno and isinstance(item.body[-1], ast.Return):
            return
    yield file.report(
        node,
        "every process writes this file",
        subject="torch.save",
        advice="save where torch.distributed.get_rank() == 0 only; the others wait at a barrier if they read it",
    )


@rule(
    "NPU809",
    "train-mode-not-restored",
    Safety.MANUAL,
    Severity.WARNING,
    words=(".train()",),
    also_in_file=(".eval()",),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION} of Module.eval",
)
def train_mode_not_restored(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A training loop switches the model to evaluation, and back to training only before the loop.

    From the second epoch on, dropout is off and batch statistics no longer move.
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "train" or node.args or not imports_torch(file):
        return
    model = dotted_text(node.func.value)
    statements, own, _ = _body(node, file)
    if model is None or own is None:
        return
    for loop in statements[statements.index(own) + 1 :]:
        if not isinstance(loop, _LOOPS):
            continue
        calls = list(_calls(loop))
        names = {name for name, _ in calls}
        evaluates = any(
            name == "eval" and isinstance(call.func, ast.Attribute) and dotted_text(call.func.value) == model
            for name, call in calls
        )
        evaluates = evaluates or any(_evaluates(call, model, file) for _, call in calls)
        if evaluates and "backward" in names and not any(name.startswith("train") for name in names):
            yield file.report(
                node,
                f"{model} is put into training once, and into evaluation in the loop at line {loop.lineno}",
                subject="torch.nn.Module.train",
                advice=f"call {model}.train() first in each epoch",
            )
            return


def _evaluates(call: ast.Call, model: str, file: PythonFile) -> bool:
    """Whether a call of a function of this file switches the model, given to it by position, to evaluation for good."""
    place = next((index for index, item in enumerate(call.args) if dotted_text(item) == model), None)
    found = file.scope(call).lookup(call.func.id) if isinstance(call.func, ast.Name) else None
    if place is None or found is None or len(found[1]) != 1:
        return False
    function = found[1][0].node
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    taken = [*function.args.posonlyargs, *function.args.args]
    if place >= len(taken):
        return False
    inside = [(name, item.func.value) for name, item in _calls(function) if isinstance(item.func, ast.Attribute)]
    switched = {name for name, of in inside if dotted_text(of) == taken[place].arg}
    return "eval" in switched and "train" not in switched
