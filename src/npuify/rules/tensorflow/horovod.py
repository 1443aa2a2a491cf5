"""Horovod under TensorFlow 1, whose place the adapter's own functions take."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.model import Evidence, Safety
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import api_name, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_RENAMED: Final = {
    "hvd.rank": "get_rank_id",
    "hvd.size": "get_rank_size",
    "hvd.local_rank": "get_local_rank_id",
    "hvd.local_size": "get_local_rank_size",
}
_KNOWN: Final = (
    *_RENAMED,
    *("hvd.init", "hvd.shutdown", "hvd.DistributedOptimizer", "hvd.BroadcastGlobalVariablesHook", "hvd.allreduce"),
    "hvd.callbacks.BroadcastGlobalVariablesCallback",
)


@rule(
    "NPU915",
    "horovod-on-npu",
    Safety.REVIEW,
    words=("hvd", "horovod"),
    also_in_file=("horovod",),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: guide to porting Horovod programs; npu_bridge/npu_init.py",
)
def horovod_on_npu(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """Horovod does not know NPUs; with TensorFlow 1.15 the adapter's functions take its place.

    ``init_resource`` has to run before the first rank is asked for. Horovod broadcasts all variables, the adapter the
    trainable ones: statistics of batch normalisation differ between cards. What cannot be written the same way is told,
    and the import stays until nothing of it is used.

    Before::

        import horovod.tensorflow as hvd
        import tensorflow as tf

        hvd.init()
        opt = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size()))

    After::

        import horovod.tensorflow as hvd
        import tensorflow as tf

        from npu_bridge.npu_init import get_rank_size, init_resource, npu_distributed_optimizer_wrapper

        npu_sess, npu_shutdown = init_resource()
        opt = npu_distributed_optimizer_wrapper(tf.train.AdamOptimizer(0.1 * get_rank_size()))
    """
    name = api_name(node.func, file)
    if name not in _KNOWN or line_of(file) == "2" or _is_for_torch(node, file):
        return
    edits = _edits(name, node, file)
    yield file.report(
        node,
        f"{name} is Horovod's, which does not know NPUs",
        edits=edits,
        safety=None if edits else Safety.MANUAL,
        subject=name,
        advice="" if edits else f"see npuify explain {name}",
    )


def _is_for_torch(node: ast.Call, file: PythonFile) -> bool:
    return (file.qualname(node.func) or "").startswith("horovod.torch")


def _edits(name: str, node: ast.Call, file: PythonFile) -> list[Edit]:
    given = len(node.args) + len(node.keywords)
    if name in _RENAMED:
        return [file.replace(node.func, _RENAMED[name])] if not given else []
    if name == "hvd.init":
        is_statement = isinstance(file.parent(node), ast.Expr)
        return [file.replace(node, "npu_sess, npu_shutdown = init_resource()")] if is_statement and not given else []
    if given != 1 or not node.args or isinstance(node.args[0], ast.Starred):
        return []
    if name == "hvd.DistributedOptimizer":
        return [file.replace(node.func, "npu_distributed_optimizer_wrapper")]
    if name == "hvd.allreduce":
        return [file.replace(node.func, "npu_allreduce")]
    if name == "hvd.BroadcastGlobalVariablesHook":
        return [file.replace(node, f"NPUBroadcastGlobalVariablesHook({file.code(node.args[0])}, get_rank_id())")]
    if name == "hvd.callbacks.BroadcastGlobalVariablesCallback":
        return [file.replace(node.func, "NPUBroadcastGlobalVariablesCallback")]
    return []
