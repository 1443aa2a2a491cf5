"""Sessions of Keras under TensorFlow 1."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.model import Safety, Severity
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


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
