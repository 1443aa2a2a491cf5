"""Names of the adapter that edits put into a file, and their import."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Safety
from npuify.rules.common.edits.statements import put_import
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

NAMES: Final = (
    *("npu_config_proto", "npu_run_config_init", "npu_clear_session", "npu_distributed_optimizer_wrapper"),
    *("npu_hooks_append", "NPUBroadcastGlobalVariablesHook", "NPUBroadcastGlobalVariablesCallback", "npu_allreduce"),
    *("init_resource", "shutdown_resource", "close_session", "get_rank_id", "get_rank_size", "get_local_rank_id"),
    *("get_local_rank_size", "NPULossScaleOptimizer", "FixedLossScaleManager", "ExponentialUpdateLossScaleManager"),
    *("hccl_ops", "npu_strategy", "NPURunConfig", "NPUEstimator", "npu_ops", "npu_unary_ops"),
)
"""What edits of these rules name. Each is imported by name: a star import binds ``tf`` and ``os``, too."""


@rule(
    "NPU900",
    "npu-bridge-not-imported",
    Safety.SAFE,
    words=tuple(sorted({name.lower() for name in (*NAMES, "npu_device")})),
    also_in_file=("tensorflow", "keras", "horovod", "tf."),
    without_torch=True,
    source="npu_bridge/npu_init.py",
)
def npu_bridge_not_imported(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """A file that uses names of the TensorFlow adapter imports them.

    Importing any name of ``npu_init`` also replaces ``Session.__init__`` in the whole process, so that sessions that
    libraries make run on the NPU as well.

    Before::

        import tensorflow as tf

        sess = tf.Session(config=npu_config_proto())

    After::

        import tensorflow as tf

        from npu_bridge.npu_init import npu_config_proto

        sess = tf.Session(config=npu_config_proto())
    """
    if file.source.scope.names.keys() & {"npu_bridge", "npu_device"} and b"import *" in file.source.data:
        return
    used: dict[str, int] = {}
    for name in NAMES:
        if not file.contains(name.encode()):
            continue
        for item in file.nodes_on_lines_with(name):
            if isinstance(item, ast.Name) and item.id == name and file.source.is_builtin(name, file.scope(item)):
                used[name] = min(used.get(name, item.lineno), item.lineno)
    yield from _second(node, file)
    if not used or any("npu_init" in star for star in file.source.scope.star_imports):
        return
    is_compatible = line_of(file) == "v1 on 2"
    module = "npu_device.compat.v1.npu_init" if is_compatible else "npu_bridge.npu_init"
    lines = [f"from {module} import {', '.join(sorted(used))}"]
    if is_compatible:
        lines = ["import npu_device", *lines, "", "npu_device.compat.enable_v1()"]
    edit = put_import(file.source.text.newline.join(lines), node, min(used.values()), file, alone=is_compatible)
    yield file.report(
        (edit.start, edit.start),
        phrase("names of the TensorFlow adapter come from {module}", module=module),
        edits=[edit],
        safety=Safety.REVIEW if is_compatible else None,
    )


def _second(tree: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """A file that uses ``npu_device`` without importing it; what opens the NPU brings its import along."""
    used = [
        item.lineno
        for item in (file.nodes_on_lines_with("npu_device") if file.contains(b"npu_device") else ())
        if isinstance(item, ast.Name)
        and item.id == "npu_device"
        and file.source.is_builtin("npu_device", file.scope(item))
    ]
    if used:
        edit = put_import("import npu_device", tree, min(used), file)
        yield file.report((edit.start, edit.start), "npu_device is the TensorFlow adapter for 2.6.5", edits=[edit])
