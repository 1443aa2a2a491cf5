"""Horovod under TensorFlow 1, whose place the adapter's own functions take."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.common.calls import argument
from npuify.rules.common.edits.statements import line_after
from npuify.rules.registry import rule
from npuify.rules.tensorflow.horovod_imports import asks_for_horovod, import_left, names_of
from npuify.rules.tensorflow.names import api_name, line_of, name_of_tensorflow
from npuify.rules.tensorflow.uses import is_in_table

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
_WITHOUT_MEANING: Final = frozenset(
    "name use_locking device_dense device_sparse compression sparse_as_dense num_groups groups".split()
)
"""Arguments of Horovod's optimizer that say how gradients travel, not what is computed."""
_ADVICE: Final = {
    "hvd.init": "at the end of the program: shutdown_resource(npu_sess, npu_shutdown), then close_session(npu_sess)",
    "hvd.BroadcastGlobalVariablesHook": "it sends the trainable variables, not statistics of batch normalisation",
    "hvd.callbacks.BroadcastGlobalVariablesCallback": "it sends the trainable variables only",
    "hvd.broadcast_global_variables": "it sends variables of floating point; others have to be equal on all cards",
}
_KNOWN: Final = (
    *_RENAMED,
    *("hvd.init", "hvd.shutdown", "hvd.DistributedOptimizer", "hvd.BroadcastGlobalVariablesHook", "hvd.allreduce"),
    "hvd.callbacks.BroadcastGlobalVariablesCallback",
    *("hvd.broadcast_global_variables", "hvd._allreduce", "hvd.mpi_ops._allreduce"),
)
_HANDLED: Final = frozenset(("hvd.Average", "hvd.Sum", "hvd.Compression.none", "hvd.Compression.fp16"))
"""Constants of Horovod that go with the call that is given them."""


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
def horovod_on_npu(node: ast.Call | ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """Horovod does not know NPUs; with TensorFlow 1.15 the adapter's functions take its place.

    ``init_resource`` has to run before the first rank is asked for. Horovod broadcasts all variables, the adapter the
    trainable ones: statistics of batch normalisation differ between cards. What cannot be written the same way is told.
    The import goes when nothing of it is used: there is no Horovod where the program runs. Where the program asks
    whether the import went well, the answer stays yes.

    Before::

        import horovod.tensorflow as hvd
        import tensorflow as tf

        hvd.init()
        opt = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size()))

    After::

        import tensorflow as tf

        from npu_bridge.npu_init import get_rank_size, init_resource, npu_distributed_optimizer_wrapper

        npu_sess, npu_shutdown = init_resource()
        opt = npu_distributed_optimizer_wrapper(tf.train.AdamOptimizer(0.1 * get_rank_size()))
    """
    if not isinstance(node, ast.Call):
        yield from import_left(node, file)
        for use in names_of(node, file):
            yield from _left_in_text(use, file)
        return
    name = api_name(node.func, file)
    if name not in _KNOWN or _is_for_torch(node, file):
        yield from asks_for_horovod(node, file)
        yield from _without_counterpart(node.func, name, file)
        return
    line = line_of(file)
    if line == "2" or (not line and file.project.tensorflow_marks.second):
        return  # the table of uses tells of it
    edits = _edits(name, node, file)
    yield file.report(
        node,
        phrase("{name} is Horovod's, which does not know NPUs", name=name),
        edits=edits,
        safety=None if edits else Safety.MANUAL,
        subject=name,
        advice=_ADVICE.get(name, "") if edits else phrase("see npuify explain {name}", name=name),
    )


def _left_in_text(node: ast.expr, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of Horovod that is not called: it needs the import, which fails where there is no Horovod."""
    parent = file.parent(node)
    while isinstance(parent, ast.Attribute):
        node, parent = parent, file.parent(parent)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    is_handed_on = isinstance(node, ast.Name) and isinstance(parent, (ast.Call, ast.keyword, ast.Return, ast.Assign))
    name = api_name(node, file) or ("hvd." if is_handed_on else "")
    calls = (one for one in file.ancestors(node) if isinstance(one, ast.Call))
    if name in _HANDLED and any(api_name(call.func, file) in _KNOWN for call in calls):
        return
    yield from _without_counterpart(node, name, file)


def _without_counterpart(node: ast.expr, name: str, file: PythonFile) -> Iterator[Diagnostic]:
    """What is left of Horovod where the adapter takes its place, and no row of the table of uses tells of it."""
    if not name.startswith("hvd.") or is_in_table(name) or line_of(file) not in ("1", "v1 on 2"):
        return
    yield file.report(
        node,
        phrase("{name} is Horovod's, which does not know NPUs; it has no counterpart that is known", name=name)
        if name != "hvd."
        else "Horovod is handed on: what is done with it was not followed, and NPU machines have none",
        safety=Safety.MANUAL,
        subject=name.rstrip("."),
        advice="write it with hccl_ops, or leave it out: on NPU machines the import of Horovod fails",
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
    if name == "hvd.shutdown":
        return _shutdown(node, file) if not given else []
    if name == "hvd.DistributedOptimizer":
        return _wrapper(node, file)
    if name == "hvd.allreduce":
        return _allreduce(node, file)
    if name.endswith("._allreduce"):
        only = [one for one in node.args if not isinstance(one, ast.Starred)]
        is_plain = len(only) == len(node.args) == 1 and all(one.arg == "name" for one in node.keywords)
        return [file.replace(node, f'hccl_ops.allreduce({file.code(only[0])}, "sum")')] if is_plain else []
    if given != 1:
        return []
    root = node.args[0] if node.args else node.keywords[0].value
    if isinstance(root, ast.Starred) or (node.keywords and node.keywords[0].arg != "root_rank"):
        return []
    if name == "hvd.BroadcastGlobalVariablesHook":
        return [file.replace(node, f"NPUBroadcastGlobalVariablesHook({file.code(root)}, get_rank_id())")]
    if name == "hvd.callbacks.BroadcastGlobalVariablesCallback":
        return [file.replace(node.func, "NPUBroadcastGlobalVariablesCallback")]
    if name == "hvd.broadcast_global_variables":
        return _broadcast(node, root, file)
    return []


def _broadcast(node: ast.Call, root: ast.expr, file: PythonFile) -> list[Edit]:
    """The group that the adapter's guide builds by hand; none for a root that is not plain, or without TensorFlow."""
    tf = name_of_tensorflow(file.source.tree)
    if not tf or not isinstance(root, (ast.Constant, ast.Name, ast.Attribute)):
        return []
    sent = f"hccl_ops.broadcast([v], {file.code(root)})[0]"
    text = f"{tf}.group(*[{tf}.assign(v, {sent}) for v in {tf}.global_variables() if v.dtype.base_dtype.is_floating])"
    return [file.replace(node, text)]


def _wrapper(node: ast.Call, file: PythonFile) -> list[Edit]:
    """The adapter's wrapper, which takes the optimizer alone; none where another argument changes what is computed."""
    optimizer = argument(node, 0, "optimizer")
    others = [*(("name", one) for one in node.args[1:]), *((one.arg, one.value) for one in node.keywords)]
    for keyword, value in others:
        averages = isinstance(value, ast.Attribute) and value.attr == "Average"
        is_first = isinstance(value, ast.Constant) and value.value in (None, 1, False)
        if value is optimizer or keyword in _WITHOUT_MEANING or (keyword == "op" and averages):
            continue
        if not (keyword in ("backward_passes_per_step", "average_aggregated_gradients") and is_first):
            return []
    if optimizer is None or isinstance(optimizer, ast.Starred):
        return []
    if len(node.args) + len(node.keywords) == 1 and node.args:
        return [file.replace(node.func, "npu_distributed_optimizer_wrapper")]
    return [file.replace(node, f"npu_distributed_optimizer_wrapper({file.code(optimizer)})")]


def _allreduce(node: ast.Call, file: PythonFile) -> list[Edit]:
    """Both average unless they are told to add."""
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        return []
    adds = False
    for keyword in node.keywords:
        if keyword.arg == "average" and isinstance(keyword.value, ast.Constant):
            adds = not keyword.value.value
        elif (
            keyword.arg == "op"
            and isinstance(keyword.value, ast.Attribute)
            and keyword.value.attr in ("Average", "Sum")
        ):
            adds = keyword.value.attr == "Sum"
        elif keyword.arg != "name":
            return []
    tensor = file.code(node.args[0])
    if adds:
        return [file.replace(node, f'hccl_ops.allreduce({tensor}, "sum")')]
    if not node.keywords:
        return [file.replace(node.func, "npu_allreduce")]
    return [file.replace(node, f"npu_allreduce({tensor})")]


def _shutdown(node: ast.Call, file: PythonFile) -> list[Edit]:
    """Edits where ``hvd.init()`` of the same function, which becomes the assignment of what is shut down, is seen."""
    statement = file.parent(node)
    if not isinstance(statement, ast.Expr):
        return []
    function = _function_around(statement, file)
    for other in file.nodes_on_lines_with("init"):
        if isinstance(other, ast.Call) and api_name(other.func, file) == "hvd.init":
            if _function_around(other, file) is function and isinstance(file.parent(other), ast.Expr):
                behind = line_after(statement, "close_session(npu_sess)", file)
                first = file.replace(node, "shutdown_resource(npu_sess, npu_shutdown)")
                return [first, behind] if behind is not None else []
    return []


def _function_around(node: ast.AST, file: PythonFile) -> ast.AST | None:
    return next((one for one in file.ancestors(node) if isinstance(one, (ast.FunctionDef, ast.Lambda))), None)
