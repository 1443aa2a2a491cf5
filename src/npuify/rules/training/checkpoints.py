"""Training practice: how checkpoints are written and read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.registry import rule
from npuify.rules.training.walks import DOCUMENTATION, FUNCTIONS, enclosing_function, named_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU807",
    "load-without-map-location",
    Safety.MANUAL,
    Severity.INFO,
    words=("torch.load(",),
    common_words=True,
    evidence=Evidence.REPORTED,
    source="user reports: 'Attempting to deserialize object on a CUDA device'",
)
def load_without_map_location(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.load`` without ``map_location`` puts tensors back on the device that they were saved from.

    A checkpoint saved on a GPU then cannot be read on an NPU machine, and every process loads one saved on card 0 onto
    card 0.
    """
    if file.qualname(node.func) != "torch.load" or argument(node, 1, "map_location") is not None:
        return
    if any(keyword.arg is None for keyword in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        return
    yield file.report(
        node,
        "torch.load without map_location fails on an NPU machine if the file was saved on a GPU",
        subject="torch.load",
        advice='pass map_location="cpu", then move the result to the device',
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
    source=f"{DOCUMENTATION} of DistributedDataParallel: save in one process",
)
def saved_by_every_rank(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """All processes of a distributed program write the same checkpoint file at once.

    Reported where a function that trains with DistributedDataParallel saves without checking the rank.
    """
    if len(node.args) < 2 or file.qualname(node.func) != "torch.save":
        return
    function = enclosing_function(node, file)
    if not isinstance(function, FUNCTIONS):
        return
    named = {name for name, _ in named_calls(function)}
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
        advice="save only where torch.distributed.get_rank() == 0; let the others wait at a barrier if they read the "
        "file",
    )


_MODEL_KEYS = frozenset(("model", "state_dict", "model_state_dict", "model_state", "net", "network", "weights"))
_RESUMED = {
    "the optimizer": ((b"optimizer.step(", b"optim.step(", b"scaler.step("), ("optim", "opt_state")),
    "the learning-rate scheduler": ((b"scheduler.step(",), ("sched", "lr_")),
    "the loss scaler": ((b"scaler.update(",), ("scaler", "amp", "scale")),
}


@rule(
    "NPU810",
    "checkpoint-incomplete",
    Safety.MANUAL,
    Severity.INFO,
    words=("torch.save(",),
    also_in_file=("optimizer.step(", "optim.step(", "scaler.step(", "scheduler.step("),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{DOCUMENTATION} on saving a general checkpoint, and on automatic mixed precision",
)
def checkpoint_incomplete(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A checkpoint for resuming lacks the optimizer, the scheduler or the loss scaler that the file steps.

    Reported for a dictionary with the model and the epoch whose keys are all literals. A run resumed from it starts
    with an empty optimizer state and the initial loss scale, so that its loss curve jumps.
    """
    if file.qualname(node.func) != "torch.save" or not node.args:
        return
    table = _table(node.args[0], file)
    if table is None:
        return
    keys = [key.value for key in table.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if len(keys) != len(table.keys) or not _MODEL_KEYS.intersection(keys):
        return
    if not any(key in ("epoch", "epochs", "step", "iteration", "iter", "global_step") for key in keys):
        return
    data, said = file.source.data, " ".join(keys).lower()
    missing = [
        what
        for what, (steps, words) in _RESUMED.items()
        if any(step in data for step in steps) and not any(word in said for word in words)
    ]
    if not missing or file.recall(("NPU810", table)):
        return
    file.remember(("NPU810", table), True)
    yield file.report(
        node,
        phrase("the checkpoint has the epoch, but not {missing}", missing=" nor ".join(missing)),
        subject="torch.save",
        advice="save their state_dict() too; for the same random numbers, also torch.get_rng_state() and "
        "torch.npu.get_rng_state()",
    )


def _table(node: ast.expr, file: PythonFile) -> ast.Dict | None:
    if isinstance(node, ast.Dict):
        return node
    if not isinstance(node, ast.Name):
        return None
    values = file.assigned(node)
    table = values[0] if len(values) == 1 else None
    if not isinstance(table, ast.Dict):
        return None
    # A table that is added to later cannot be judged by its literal.
    if f"{node.id}[".encode() in file.source.data or f"{node.id}.update".encode() in file.source.data:
        return None
    return table
