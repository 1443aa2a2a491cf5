"""Keras under TensorFlow 1: the session in which its models run."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.model import Evidence, Safety
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import (
    FRAMEWORKS,
    hides_all_gpus,
    is_program,
    is_test_file,
    line_of,
    name_of_tensorflow,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_HAS_SESSION: Final = re.compile(rb"\bset_session\(|\bSession\(|\bnpu_bridge\b|\bset_keras_session_npu_config\b")
_OF_TENSORFLOW: Final = re.compile(rb"\btf1?\.keras\b|tensorflow(?:\.python|\.compat\.v1)?[. ](?:import )?keras")


@rule(
    "NPU916",
    "keras-without-npu-session",
    Safety.REVIEW,
    words=(".fit(", ".fit_generator(", ".train_on_batch("),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter for 1.15: guide to porting Keras programs",
)
def keras_without_npu_session(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """A Keras model of TensorFlow 1 runs in a session that Keras makes, without the adapter's configuration.

    The program gives Keras a session, before the model is built. Only the Keras inside TensorFlow is meant.

    Before::

        import tensorflow as tf

        tf.set_random_seed(1)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(x, y)

    After::

        import tensorflow as tf

        from npu_bridge.npu_init import npu_config_proto

        tf.keras.backend.set_session(tf.Session(config=npu_config_proto()))

        tf.set_random_seed(1)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(x, y)
    """
    data = file.source.data
    if line_of(file) != "1" or _HAS_SESSION.search(data) or not _OF_TENSORFLOW.search(data):
        return
    if not is_program(node) or is_test_file(file) or hides_all_gpus(file):
        return
    name = name_of_tensorflow(node)
    imports = [one for one in node.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    last = next((one for one in reversed(imports) if not _has_code_before(one, node)), None)
    starts = file.source.text.line_starts
    place = (last.end_lineno or last.lineno) if last is not None else 0
    if not name or last is None or place >= len(starts):
        yield file.report(
            (0, 0),
            "Keras makes a session without the adapter's configuration",
            safety=Safety.MANUAL,
            subject="keras",
            advice="before the model is built: tf.keras.backend.set_session(tf.Session(config=npu_config_proto()))",
        )
        return
    newline = file.source.text.newline
    following = file.source.segment(starts[place], starts[place + 1] if place + 1 < len(starts) else len(data))
    line = f"{name}.keras.backend.set_session({name}.Session(config=npu_config_proto()))"
    text = newline + line + newline + (newline if following.strip() else "")
    yield file.report(
        (starts[place], starts[place]),
        "Keras makes a session without the adapter's configuration",
        edits=[file.edit(starts[place], starts[place], text)],
        subject="keras",
        advice="close the session when the program ends",
    )


def _has_code_before(item: ast.stmt, tree: ast.Module) -> bool:
    """Whether a function, class or model stands above an import."""
    kinds = (ast.FunctionDef, ast.ClassDef, ast.For, ast.With)
    return any(isinstance(one, kinds) for one in tree.body if one.lineno < item.lineno)
