"""Training practice: what is saved, when gradients are cleared, and what makes the host, and so the NPU, wait."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.project import is_test
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch, keyword_of
from npuify.rules.registry import rule
from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DOCUMENTATION = "PyTorch's documentation"
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _once(code: str, file: PythonFile) -> bool:
    if file.recall(code):
        return False
    file.remember(code, True)
    return True


def _receiver(call: ast.Call) -> str:
    """What a method is called on, as dotted text in lower case; empty where that is no plain name."""
    return (dotted_text(call.func.value) or "").lower() if isinstance(call.func, ast.Attribute) else ""


def _steps(call: ast.Call) -> bool:
    """Whether a call is the step of an optimiser, or of a scaler for one."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    name = _receiver(call).rpartition(".")[2]
    if "scaler" in name and len(call.args) == 1:
        name = (dotted_text(call.args[0]) or "").lower().rpartition(".")[2]
    elif call.args:
        return False
    return ("optim" in name or name == "opt") and "sched" not in name


def _clears(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "zero_grad"


_MODEL_KEYS = frozenset(("model", "state_dict", "model_state_dict", "model_state", "net", "network", "weights"))
_RESUMED = {
    "the optimiser": ((b"optimizer.step(", b"optim.step(", b"scaler.step("), ("optim", "opt_state")),
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
    source=f"{_DOCUMENTATION} on saving a general checkpoint, and on automatic mixed precision",
)
def checkpoint_incomplete(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A checkpoint to go on from lacks the optimiser, the scheduler or the loss scaler, which the file steps.

    Reported for a table with the model and the epoch, whose other keys are all literal. A run that goes on from it
    begins with an empty optimiser and the first loss scale, so that its curve jumps.
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
        f"the checkpoint has the epoch, and not {' nor '.join(missing)}",
        subject="torch.save",
        advice="save their state_dict(), too; for the same random numbers also torch.get_rng_state() and "
        "torch.npu.get_rng_state()",
    )


def _table(node: ast.expr, file: PythonFile) -> ast.Dict | None:
    if isinstance(node, ast.Dict):
        return node
    if not isinstance(node, ast.Name):
        return None
    found = file.scope(node).lookup(node.id)
    values = [binding.value for binding in found[1]] if found is not None else []
    if len(values) != 1 or not isinstance(values[0], ast.Dict):
        return None
    # A table that is added to later cannot be judged by its literal.
    if f"{node.id}[".encode() in file.source.data or f"{node.id}.update".encode() in file.source.data:
        return None
    return values[0]


@rule(
    "NPU811",
    "gradients-not-cleared",
    Safety.MANUAL,
    Severity.WARNING,
    words=(".backward(",),
    also_in_file=(".step(",),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION}: gradients add up until zero_grad",
)
def gradients_not_cleared(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A loop steps the optimiser and never clears the gradients, or clears them in rounds that do not step.

    The second undoes the accumulation: only the last small batch counts.
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "backward" or not imports_torch(file):
        return
    loop = next((up for up in file.ancestors(node) if isinstance(up, (*_LOOPS, *_FUNCTIONS))), None)
    if not isinstance(loop, _LOOPS):
        return
    calls = [item for item in ast.walk(loop) if isinstance(item, ast.Call)]
    steps = [call for call in calls if _steps(call)]
    if not steps or sum(_is_backward(call) for call in calls) != 1:
        return
    if is_test(file.source.relative) or _made_in(_receiver(steps[0]), loop):
        return
    data = file.source.data
    if not any(
        word in data for word in (b"zero_grad", b".grad = None", b".grad=None", b"grad.zero_", b"autograd.grad")
    ):
        message = "the optimiser steps in this loop, and nothing clears the gradients"
        yield file.report(
            steps[0],
            message,
            subject="torch.optim.Optimizer.zero_grad",
            advice="call optimizer.zero_grad() in each round",
        )
        return
    periods = {_period(call, loop, file) for call in steps}
    clears = [call for call in calls if _clears(call)]
    if len(periods) != 1 or None in periods or not clears:
        return
    if any(_conditional(call, loop, file) for call in clears):
        return
    yield file.report(
        clears[0],
        f"gradients are cleared in every round, and the optimiser steps only if {periods.pop()}",
        subject="torch.optim.Optimizer.zero_grad",
        advice="clear them right after the step, under the same condition",
    )


def _made_in(name: str, loop: ast.AST) -> bool:
    """Whether a name is bound anew in each round of a loop."""
    return any(
        isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store) and item.id.lower() == name
        for item in ast.walk(loop)
    )


def _within(node: ast.AST, loop: ast.AST, file: PythonFile) -> list[ast.AST]:
    """What is around a node inside a loop, the innermost first; empty where it does not stand there.

    The file's own record of parents holds only lines that are of interest to a rule.
    """
    parents: dict[ast.AST, ast.AST] | None = file.recall(("parents", loop))
    if parents is None:
        parents = {child: item for item in ast.walk(loop) for child in ast.iter_child_nodes(item)}
        file.remember(("parents", loop), parents)
    chain = []
    current = parents.get(node)
    while current is not None and current is not loop:
        chain.append(current)
        current = parents.get(current)
    return chain


def _is_backward(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "backward"


def _period(call: ast.Call, loop: ast.AST, file: PythonFile) -> str | None:
    """The condition with a remainder under which a call stands in a loop, or None."""
    current: ast.AST = call
    for up in _within(call, loop, file):
        if isinstance(up, ast.If) and current in up.body:
            if any(isinstance(item, ast.BinOp) and isinstance(item.op, ast.Mod) for item in ast.walk(up.test)):
                return file.code(up.test)
        current = up
    return None


def _conditional(call: ast.Call, loop: ast.AST, file: PythonFile) -> bool:
    """Whether a call does not run exactly once in each round of a loop."""
    return any(isinstance(up, (ast.If, ast.IfExp, ast.Try, *_LOOPS, *_FUNCTIONS)) for up in _within(call, loop, file))


_FETCHES = frozenset(("item", "tolist", "cpu", "numpy"))
_MANY = 2


@rule(
    "NPU812",
    "host-waits-in-each-step",
    Safety.MANUAL,
    Severity.INFO,
    words=(".backward(",),
    also_in_file=(".step(",),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source="msprof-analyze's rule for synchronising calls; torch_npu queues operators as CUDA does",
)
def host_waits_in_each_step(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Each round of a training loop fetches several numbers from the device, and waits for it each time.

    An NPU starts operators later than a GPU does, so that an empty queue costs it more. Reported once a file.
    """
    if not _is_backward(node) or not imports_torch(file) or is_test(file.source.relative):
        return
    loop = next((up for up in file.ancestors(node) if isinstance(up, (*_LOOPS, *_FUNCTIONS))), None)
    if not isinstance(loop, _LOOPS):
        return
    calls = [item for item in ast.walk(loop) if isinstance(item, ast.Call)]
    if not any(_steps(call) for call in calls):
        return
    fetches = [
        call
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in _FETCHES
        and not call.args
        and not isinstance(next(iter(_within(call, loop, file)), None), ast.Attribute)
        and not _conditional(call, loop, file)
    ]
    if len(fetches) < _MANY or not _once("NPU812", file):
        return
    lines = ", ".join(str(line) for line in sorted({call.lineno for call in fetches})[:4])
    yield file.report(
        fetches[0],
        f"each round of the loop waits for the device {len(fetches)} times (lines {lines})",
        subject="torch.Tensor.item",
        advice="add up on the device, and fetch once in many rounds, where it is printed or logged",
    )


_FUSED = {
    "torch.optim.Adam": ("torch_npu.optim.NpuFusedAdam", "_fused_adam_"),
    "torch.optim.AdamW": ("torch_npu.optim.NpuFusedAdamW", "_fused_adamw_"),
    "torch.optim.SGD": ("torch_npu.optim.NpuFusedSGD", "_fused_sgd_"),
    "torch.optim.RMSprop": ("torch_npu.optim.NpuFusedRMSprop", ""),
    "torch.optim.Adadelta": ("torch_npu.optim.NpuFusedAdadelta", ""),
}
_SHARDED = (b"deepspeed", b"FullyShardedDataParallel", b"fully_shard", b"ZeroRedundancyOptimizer", b"FSDP")


@rule(
    "NPU813",
    "fused-optimizer",
    Safety.MANUAL,
    Severity.INFO,
    words=("optim.adam(", "optim.adamw(", "optim.sgd(", "optim.rmsprop(", "optim.adadelta(", "fused=true"),
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source="op-plugin: torch_npu.optim.NpuFused*; the wheel's list of operators for fused=True",
)
def fused_optimizer(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """An optimiser that torch_npu also has in one piece, or one that is asked for ``fused=True``.

    Reported once a file, and not where parameters are sharded.
    """
    name = file.qualname(node.func) or ""
    ours, operator = _FUSED.get(name, ("", ""))
    if not ours or is_test(file.source.relative):
        return
    fused = keyword_of(node, "fused")
    release = file.release
    if isinstance(fused, ast.Constant) and fused.value is True:
        if operator in release.operators:
            return
        yield file.report(
            node,
            f"torch_npu {release.torch_npu} lists no kernel for {operator or 'the fused form of this optimiser'}",
            severity=Severity.WARNING,
            subject=name,
            advice=f"leave fused=True out, or take {ours}",
        )
        return
    if (
        "sparse" in file.code(node)
        or any(file.contains(word) for word in _SHARDED)
        or not release.importable(ours)
        or not _once("NPU813", file)
    ):
        return
    yield file.report(
        node,
        f"{ours} steps all parameters at once",
        subject=name,
        advice=f"where the step shows in a profile: {ours} with the same arguments, without foreach, fused, capturable "
        "and maximize; parameters may not be replaced after it is made, and clip_grad_norm_ becomes "
        "optimizer.clip_grad_norm_fused_",
    )


@rule(
    "NPU814",
    "unused-parameters-searched",
    Safety.MANUAL,
    Severity.INFO,
    words=("find_unused_parameters=true",),
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION} of DistributedDataParallel",
)
def unused_parameters_searched(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """DistributedDataParallel walks the whole graph in each step to find parameters without a gradient."""
    found = keyword_of(node, "find_unused_parameters")
    if not (isinstance(found, ast.Constant) and found.value is True):
        return
    if (file.qualname(node.func) or "").rpartition(".")[2] != "DistributedDataParallel":
        return
    yield file.report(
        found,
        "the search for unused parameters costs host time in each step, and the host is what an NPU waits for first",
        subject="torch.nn.parallel.DistributedDataParallel",
        advice="leave it out where every parameter gets a gradient; gradient_as_bucket_view=True and static_graph=True "
        "save more",
    )


@rule(
    "NPU815",
    "seeds-of-cuda",
    Safety.MANUAL,
    Severity.INFO,
    words=("cuda.manual_seed", "npu.manual_seed"),
    evidence=Evidence.DOCUMENTED,
    source=f"{_DOCUMENTATION} on reproducibility: the same seed gives other numbers on another device",
)
def seeds_of_cuda(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Seeds are fixed, which makes runs on one device alike, and not runs on a GPU and an NPU.

    Reported once a file.
    """
    name = file.qualname(node.func) or ""
    if not name.endswith((".manual_seed", ".manual_seed_all")) or is_test(file.source.relative):
        return
    if not name.startswith(("torch.cuda.", "torch.npu.", "torch_npu.npu.")) or not _once("NPU815", file):
        return
    yield file.report(
        node,
        "the same seed gives other random numbers on an NPU than on a GPU",
        subject="torch.cuda.manual_seed",
        advice="to compare runs on both, make the initial weights and the order of data on the CPU, load the same "
        "checkpoint, and leave dropout off",
    )


@rule(
    "NPU816",
    "own-cpu-binding",
    Safety.MANUAL,
    Severity.INFO,
    words=("sched_setaffinity", "cpu_affinity("),
    evidence=Evidence.DOCUMENTED,
    source="Ascend's page on CPU_AFFINITY_CONF",
)
def own_cpu_binding(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The program binds itself to processors, which torch_npu does as well where CPU_AFFINITY_CONF says so."""
    name = file.qualname(node.func) or dotted_text(node.func) or ""
    method = isinstance(node.func, ast.Attribute) and node.func.attr == "cpu_affinity" and bool(node.args)
    if name != "os.sched_setaffinity" and not method:
        return
    yield file.report(
        node,
        "the processors are chosen here; they should be those next to the card, which nothing of CUDA tells",
        subject="CPU_AFFINITY_CONF",
        advice="leave it to CPU_AFFINITY_CONF=1 (or 2, finer) in the environment, or take the ranges that "
        "`npu-smi info -t topo` gives for each card; not both",
    )
