"""Graphs that differ between ranks, and XLA in functions: told, since only a person knows what was meant."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.call_edits import without_keyword
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_RANKS: Final = frozenset(("hvd.rank", "hvd.local_rank"))
_ADAPTERS: Final = frozenset(("get_rank_id", "get_local_rank_id", "get_npu_rank_id", "get_npu_local_rank_id"))
_HOST: Final = (
    *("tf.logging", "tf.gfile", "tf.io.gfile", "tf.app", "tf.flags", "tf.errors", "tf.compat.as_", "tf.estimator"),
    *("tf.train.Saver", "tf.train.CheckpointSaverHook", "tf.summary.FileWriter", "tf.get_logger", "tf.train.latest"),
    *("tf.saved_model", "tf.train.LoggingTensorHook", "tf.ConfigProto", "tf.train.SummarySaverHook"),
)
"""What runs on the host, or is a hook of a monitored session, which adds what it needs."""


@rule(
    "NPU914",
    "graph-of-one-rank",
    Safety.MANUAL,
    Severity.WARNING,
    words=("rank",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="hicann/tensorflow@82957b9:docs/en/tfadapter_1/migration/faq/multi-device_model_error.md",
)
def graph_of_one_rank(node: ast.If, file: PythonFile) -> Iterator[Diagnostic]:
    """Code that builds a graph, or runs one, on one rank only: the ranks' graphs differ, and the job hangs.

    Collectives are numbered within a graph. A rank with an operation or a run more waits for others that never come.
    """
    if line_of(file) == "2" or not _is_first_rank(node.test, file):
        return
    for statement in node.body:
        for part in ast.walk(statement):
            if isinstance(part, ast.Call) and (what := _graph_code(part, file)):
                yield file.report(
                    part,
                    phrase(
                        "{what} stands under a condition on the rank: the ranks' graphs or runs differ, and "
                        "the job hangs",
                        what=what,
                    ),
                    subject="if rank == 0",
                    advice="build and run the same on every rank; only print and write files under the condition",
                )
                return


@rule(
    "NPU940",
    "ranks-of-mpi",
    Safety.MANUAL,
    Severity.WARNING,
    words=("comm_world",),
    also_in_file=("mpi4py",),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: guide to starting several processes; mpi4py, MPI.COMM_WORLD",
)
def ranks_of_mpi(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """A program takes ranks, or sends values, by mpi4py beside Horovod, which mpirun started.

    Processes that a launch script starts for NPUs are no processes of MPI's: each is rank 0 of 1 there, and what one
    sends reaches no other. A seed that rank 0 is to send stays empty on the others, in silence.
    """
    if file.qualname(node) != "mpi4py.MPI.COMM_WORLD" or line_of(file) == "2":
        return
    replaced = file.project.files_with(b"horovod") or file.project.files_with(b"init_resource")
    if not file.project.on_tensorflow or not replaced:
        return
    first = next(one for one in file.nodes_on_lines_with("COMM_WORLD") if isinstance(one, ast.Attribute))
    if node is first:
        yield file.report(
            node,
            "MPI knows the processes that mpirun starts; on NPUs a launch script starts them, and each is rank 0 of 1 "
            "here",
            subject="mpi4py.MPI.COMM_WORLD",
            advice="take the rank from get_rank_id() and the number from get_rank_size(), and give all ranks what one "
            "sent, such as a seed, as an option; or start the program by mpirun, with RANK_ID and RANK_SIZE for each "
            "process",
        )


def _is_first_rank(test: ast.expr, file: PythonFile) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_rank(test.operand, file)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_is_first_rank(one, file) for one in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        other = test.comparators[0]
        return isinstance(other, ast.Constant) and other.value == 0 and _is_rank(test.left, file)
    return False


def _is_rank(node: ast.expr, file: PythonFile) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _names_of_ranks(file)
    return isinstance(node, ast.Call) and _asks_for_rank(node, file)


def _asks_for_rank(call: ast.Call, file: PythonFile) -> bool:
    name = file.qualname(call.func) or ""
    own = name.startswith(("npu_bridge.", "npu_device.", "hccl.")) and name.rpartition(".")[2] in _ADAPTERS
    return own or api_name(call.func, file) in _RANKS


def _names_of_ranks(file: PythonFile) -> frozenset[str]:
    """Names to which a file assigns a rank and nothing else."""
    known: frozenset[str] | None = file.recall("names of ranks")
    if known is None:
        ranks, others = set[str](), set[str]()
        for node in file.nodes_on_lines_with("rank"):
            if isinstance(node, ast.Assign):
                is_rank = isinstance(node.value, ast.Call) and _asks_for_rank(node.value, file)
                names = {target.id for target in node.targets if isinstance(target, ast.Name)}
                (ranks if is_rank else others).update(names)
        known = file.remember("names of ranks", frozenset(ranks - others))
    return known


def _graph_code(call: ast.Call, file: PythonFile) -> str:
    """The name of what builds or runs a graph; empty for what does neither, as far as is known."""
    name = api_name(call.func, file)
    if name.startswith("tf.") and not name.startswith(_HOST):
        return name
    if isinstance(call.func, ast.Attribute) and call.func.attr == "run" and isinstance(call.func.value, ast.Name):
        if "sess" in call.func.value.id.lower():
            return f"{call.func.value.id}.run"
    return ""


@rule(
    "NPU913",
    "xla-in-function",
    Safety.REVIEW,
    Severity.INFO,
    words=("jit_compile", "experimental_compile"),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="hicann/tensorflow@82957b9:tf_adapter_2.x/python/npu_device/npu_device.py: npu_compat_function",
)
def xla_in_function(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """XLA does not reach the NPU: a function made after the NPU was opened loses it, one made before keeps it.

    Keras' ``compile`` has no such argument in TensorFlow 2.6: it came later.

    Before::

        import tensorflow as tf

        model = tf.keras.Sequential()
        step = tf.function(model)
        model.compile("adam", "mse", jit_compile=True)

    After::

        import tensorflow as tf

        model = tf.keras.Sequential()
        step = tf.function(model)
        model.compile("adam", "mse")
    """
    if line_of(file) == "1":
        return
    if isinstance(node.func, ast.Attribute) and node.func.attr == "compile" and not api_name(node.func, file):
        value = next((one for one in node.keywords if one.arg == "jit_compile"), None)
        if value is not None:
            yield file.report(
                value.value,
                "compile() has no jit_compile in TensorFlow 2.6: TypeError",
                edits=list(filter(None, [without_keyword(node, value, file)])),
                safety=Safety.REVIEW,
                severity=Severity.ERROR,
                subject="compile(jit_compile=)",
                advice="leave it out; XLA does not reach the NPU either",
                evidence=Evidence.LIVE,
                source="TensorFlow 2.6.5: keras/engine/training.py",
            )
        return
    if api_name(node.func, file) != "tf.function":
        return
    for keyword in node.keywords:
        if keyword.arg in ("jit_compile", "experimental_compile"):
            if not (isinstance(keyword.value, ast.Constant) and not keyword.value.value):
                yield file.report(
                    keyword.value,
                    phrase(
                        "{arg} turns on XLA, which the NPU does not have; the adapter drops it after open()",
                        arg=keyword.arg,
                    ),
                    safety=Safety.MANUAL,
                    subject="tf.function",
                    advice="delete it; see that the NPU is opened before the function is made",
                )
