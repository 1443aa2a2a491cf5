"""Sessions of Keras under TensorFlow 1."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.model import Safety, Severity
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, line_of, may_be_given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


_CLEAR: Final = "tf.keras.backend.clear_session"


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
    is_meant = api_name(node.func, file) == _CLEAR
    if line_of(file) == "2" or not (is_meant or may_be_given(node.func, file) == _CLEAR):
        return
    is_sure = is_meant and line_of(file) == "1" and not node.args
    edits = [file.replace(node.func, "npu_clear_session")] if is_sure else []
    yield file.report(
        node,
        "the session that follows clear_session lacks the NPU's configuration; options set before are lost",
        edits=edits,
        safety=None if is_meant else Safety.MANUAL,
        subject="clear_session",
    )
