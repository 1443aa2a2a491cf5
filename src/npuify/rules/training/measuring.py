"""Training practice: what makes timings and results of two devices hard to compare."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.project import is_test
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch
from npuify.rules.registry import rule
from npuify.rules.training.walks import DOCUMENTATION, FUNCTIONS, LOOPS, block_of, first_time, named_calls
from npuify.source.python import dotted_text, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

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
    source=f"{DOCUMENTATION} on asynchronous execution; torch_npu queues operators as CUDA does",
)
def timed_without_synchronize(node: ast.Assign, file: PythonFile) -> Iterator[Diagnostic]:
    """A clock is read before and after work on the device without waiting for the device.

    This measures how fast the host queues operators, which differs between devices more than the work itself does.
    """
    if len(node.targets) != 1 or not imports_torch(file):
        return
    value = node.value
    if not isinstance(value, ast.Call) or file.qualname(value.func) not in _CLOCKS:
        return
    started = dotted_text(node.targets[0])
    statements, own, _ = block_of(value, file)
    if started is None or own is not node:
        return
    worked = False
    for statement in statements[statements.index(node) + 1 :]:
        named = {name for name, _ in named_calls(statement)}
        stops = any(
            isinstance(item, ast.BinOp)
            and isinstance(item.op, ast.Sub)
            and dotted_text(item.right) == started
            and isinstance(item.left, ast.Call)
            for item in walk(statement)
        )
        if stops:
            if worked:
                yield file.report(
                    value,
                    phrase(
                        "the time up to line {lineno} is measured without waiting for the device",
                        lineno=statement.lineno,
                    ),
                    subject="torch.cuda.synchronize",
                    advice="call torch.npu.synchronize() before each clock reading, or use torch.npu.Event",
                )
            return
        plain = {call.func.id for _, call in named_calls(statement) if isinstance(call.func, ast.Name)}
        if named & _WAITING or plain - _KNOWN or isinstance(statement, (*FUNCTIONS, ast.ClassDef, *LOOPS)):
            return
        worked = worked or bool(named & _STEPS)


@rule(
    "NPU815",
    "seeds-of-cuda",
    Safety.MANUAL,
    Severity.INFO,
    words=("cuda.manual_seed", "npu.manual_seed"),
    evidence=Evidence.DOCUMENTED,
    source=f"{DOCUMENTATION} on reproducibility: the same seed gives different numbers on different devices",
)
def seeds_of_cuda(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Fixed seeds make runs reproducible on one device, but not between a GPU and an NPU.

    Reported once per file.
    """
    name = file.qualname(node.func) or ""
    if not name.endswith((".manual_seed", ".manual_seed_all")) or is_test(file.source.relative):
        return
    if not name.startswith(("torch.cuda.", "torch.npu.", "torch_npu.npu.")) or not first_time("NPU815", file):
        return
    yield file.report(
        node,
        "the same seed gives different random numbers on an NPU and on a GPU",
        subject="torch.cuda.manual_seed",
        advice="to compare runs on both, create the initial weights and the data order on the CPU, load the same "
        "checkpoint, and turn dropout off",
    )
