"""Training practice: what keeps the host, and so the NPU, from working at full speed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.project import is_test
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch, keyword_of
from npuify.rules.registry import rule
from npuify.rules.training.walks import (
    DOCUMENTATION,
    LOOPS,
    SCOPES,
    calls_in,
    enclosing,
    first_time,
    is_backward,
    is_conditional,
    is_step,
)
from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

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
    source="msprof-analyze's rule for synchronizing calls; torch_npu queues operators as CUDA does",
)
def host_waits_in_each_step(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Each iteration of a training loop fetches several numbers from the device, and waits for it each time.

    An NPU takes longer to launch operators than a GPU, so an empty queue costs more. Reported once per file.
    """
    if not is_backward(node) or not imports_torch(file) or is_test(file.source.relative):
        return
    loop = next((up for up in file.ancestors(node) if isinstance(up, (*LOOPS, *SCOPES))), None)
    if not isinstance(loop, LOOPS):
        return
    calls = calls_in(loop, file)
    if not any(is_step(call) for call in calls):
        return
    fetches = [
        call
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in _FETCHES
        and not call.args
        and not isinstance(next(iter(enclosing(call, loop, file)), None), ast.Attribute)
        and not is_conditional(call, loop, file)
    ]
    if len(fetches) < _MANY or not first_time("NPU812", file):
        return
    lines = ", ".join(str(line) for line in sorted({call.lineno for call in fetches})[:4])
    yield file.report(
        fetches[0],
        phrase("each iteration waits for the device {number} times (lines {lines})", number=len(fetches), lines=lines),
        subject="torch.Tensor.item",
        advice="accumulate on the device, and fetch only every so many iterations, where the value is printed or "
        "logged",
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
    """An optimizer of which torch_npu has a fused version, or one created with ``fused=True``.

    ``fused=True`` of Adam, AdamW and SGD works where the release registers the operator behind it, which is looked up
    in its table; where it does not, that is a warning. Reported once per file, but not where parameters are sharded.
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
            phrase(
                "torch_npu {torch_npu} lists no kernel for {value}",
                torch_npu=release.torch_npu,
                value=operator or "the fused form of this optimizer",
            ),
            severity=Severity.WARNING,
            subject=name,
            advice=phrase("drop fused=True, or use {ours}", ours=ours),
        )
        return
    if (
        "sparse" in file.code(node)
        or any(file.contains(word) for word in _SHARDED)
        or not release.importable(ours)
        or not first_time("NPU813", file)
    ):
        return
    use = phrase(
        "if the optimizer step shows up in a profile, use {ours} with the same arguments, "
        "without foreach, fused, capturable and maximize; parameters must not be replaced "
        "after it is created, and clip_grad_norm_ becomes optimizer.clip_grad_norm_fused_",
        ours=ours,
    )
    if operator in release.operators:
        # Taken for registered only; which of the two is faster nobody has measured here.
        use = phrase(
            "{use}; fused=True works, too: torch_npu {torch_npu} registers {operator}",
            use=use,
            torch_npu=release.torch_npu,
            operator=operator,
        )
    yield file.report(node, phrase("{ours} updates all parameters at once", ours=ours), subject=name, advice=use)


@rule(
    "NPU814",
    "unused-parameters-searched",
    Safety.MANUAL,
    Severity.INFO,
    words=("find_unused_parameters=true",),
    evidence=Evidence.DOCUMENTED,
    source=f"{DOCUMENTATION} of DistributedDataParallel",
)
def unused_parameters_searched(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """DistributedDataParallel traverses the whole graph in each step to find parameters without a gradient."""
    found = keyword_of(node, "find_unused_parameters")
    if not (isinstance(found, ast.Constant) and found.value is True):
        return
    if (file.qualname(node.func) or "").rpartition(".")[2] != "DistributedDataParallel":
        return
    yield file.report(
        found,
        "the search for unused parameters costs host time in each step, and the host is usually what an NPU waits for",
        subject="torch.nn.parallel.DistributedDataParallel",
        advice="remove it if every parameter gets a gradient; gradient_as_bucket_view=True and static_graph=True save "
        "more",
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
    """The program binds itself to CPU cores, as torch_npu does where CPU_AFFINITY_CONF is set."""
    name = file.qualname(node.func) or dotted_text(node.func) or ""
    method = isinstance(node.func, ast.Attribute) and node.func.attr == "cpu_affinity" and bool(node.args)
    if name != "os.sched_setaffinity" and not method:
        return
    yield file.report(
        node,
        "CPU cores are chosen here; they should be those closest to the NPU",
        subject="CPU_AFFINITY_CONF",
        advice="set CPU_AFFINITY_CONF=1 (or 2, finer-grained) in the environment instead, or use the ranges that "
        "`npu-smi info -t topo` shows for each card; not both",
    )
