"""Keras programs: the stand-alone package, and sessions of Keras under TensorFlow 1."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU908",
    "stand-alone-keras",
    Safety.MANUAL,
    words=("import keras", "from keras"),
    also_in_file=("keras",),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: guide to porting Keras programs",
)
def stand_alone_keras(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """Only the Keras inside TensorFlow runs on NPUs, not the package of its own.

    Names differ between the two, so nothing is renamed.
    """
    if "keras" in file.project.packages or not _imports_keras(node) or file.recall("stand-alone keras"):
        return
    if file.remember("stand-alone keras", True):
        yield file.report(
            node,
            "this file uses the stand-alone Keras, which does not run on NPUs",
            subject="keras",
            advice="import tensorflow.keras; see that each name that is used exists there",
        )


def _imports_keras(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] == "keras" for alias in node.names)
    return not node.level and (node.module or "").partition(".")[0] == "keras"


@rule(
    "NPU909",
    "keras-session-cleared",
    Safety.REVIEW,
    Severity.WARNING,
    words=("clear_session",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    source="npu_bridge/npu_init.py: npu_clear_session",
)
def keras_session_cleared(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """After ``clear_session`` Keras makes a session of its own, without the NPU's configuration.

    Before::

        import tensorflow as tf

        x = tf.placeholder(tf.float32)
        tf.keras.backend.clear_session()

    After::

        import tensorflow as tf

        from npu_bridge.npu_init import npu_clear_session

        x = tf.placeholder(tf.float32)
        npu_clear_session()
    """
    if api_name(node.func, file) != "tf.keras.backend.clear_session" or line_of(file) == "2":
        return
    edits = [file.replace(node.func, "npu_clear_session")] if line_of(file) == "1" and not node.args else []
    yield file.report(
        node,
        "the session that follows clear_session lacks the NPU's configuration; options set before are lost",
        edits=edits,
        subject="clear_session",
    )
