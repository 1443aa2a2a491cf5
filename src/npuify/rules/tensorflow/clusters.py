"""Clusters of TensorFlow's own, which processes find by ``TF_CONFIG``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule
from npuify.rules.tensorflow.estimators.run_configs import asks_for_servers
from npuify.rules.tensorflow.names import FRAMEWORKS, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_VARIABLE = "TF_CONFIG"


@rule(
    "NPU928",
    "cluster-of-tensorflow",
    Safety.MANUAL,
    Severity.WARNING,
    words=("tf_config",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="hicann/tensorflow@82957b9:docs/en/tfadapter_1/migration/script_migration/distributed_training_scripts/"
    "data_parallel_ps_worker.md",
)
def cluster_of_tensorflow(node: ast.Subscript | ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A program says in ``TF_CONFIG`` which processes make up a cluster, which is TensorFlow's own way to distribute.

    On NPUs only parameter servers with ``NPUEstimator`` are described by it; a plain ``Estimator``, and the strategies
    of TensorFlow 2 for several machines, are not. Otherwise one process for each card is told its rank by RANK_ID and
    RANK_SIZE, as ``npuify launch`` writes it.
    """
    if isinstance(node, ast.Subscript):
        if not isinstance(node.ctx, ast.Store) or file.qualname(node.value) != "os.environ":
            return
        key: ast.expr | None = node.slice
    else:
        if file.qualname(node.func) not in ("os.environ.setdefault", "os.putenv"):
            return
        key = node.args[0] if node.args else None
    if not isinstance(key, ast.Constant) or key.value != _VARIABLE or asks_for_servers(file):
        return
    advice = (
        "start one process for each card with RANK_ID and RANK_SIZE (npuify launch), and convert the program with "
        "npuify distribute"
    )
    if line_of(file) != "2":
        advice = (
            "start one process for each card with RANK_ID and RANK_SIZE (npuify launch), and convert the program with "
            "npuify distribute; parameter servers take NPUEstimator and NPURunConfig(distribute=...)"
        )
    yield file.report(
        node,
        "a cluster in TF_CONFIG is TensorFlow's own way to distribute, which NPUs take for parameter servers with "
        "NPUEstimator only",
        subject=_VARIABLE,
        advice=advice,
    )
