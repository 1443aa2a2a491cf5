"""Loggers of PyTorch programs that write TensorBoard's files with names of TensorFlow 1."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_GONE: Final = frozenset(
    (
        *("tensorflow.Summary", "tensorflow.Summary.Value", "tensorflow.Summary.Image", "tensorflow.HistogramProto"),
        *("tensorflow.summary.FileWriter", "tensorflow.summary.FileWriterCache", "tensorflow.train.SummaryWriter"),
        *("tensorflow.summary.merge_all", "tensorflow.summary.merge", "tensorflow.Event"),
    )
)
_ASKED: Final = re.compile(rb"__version__|hasattr\(|\btry:\s+(?:import tensorflow|from tensorflow)\b")
"""The file asks which TensorFlow there is, or goes on without any."""


@rule(
    "NPU676",
    "logger-of-tensorflow-1",
    Safety.MANUAL,
    Severity.ERROR,
    words=("summary(", "filewriter(", "filewritercache(", "summarywriter(", "histogramproto(", "tf.event("),
    also_in_file=("tensorflow",),
    without_torch=True,
    common_words=True,
    evidence=Evidence.LIVE,
    source="tensorflow 2.12.1, asked for each name; TensorFlow 1 has no build for a Python newer than 3.7",
)
def logger_of_tensorflow_1(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A PyTorch program logs with names that only TensorFlow 1 has, as many loggers of 2017 to 2019 do.

    TensorFlow 1 was built for Python 3.7 at most, and no torch_npu that is aimed at is built for that Python.
    TensorFlow 2 has not these names: the program stops at its first log. Told once a file, and not where a project
    computes with TensorFlow itself.
    """
    name = file.qualname(node.func) or ""
    if name not in _GONE or file.project.on_tensorflow or file.recall("NPU676"):
        return
    file.remember("NPU676", True)
    yield file.report(
        node,
        phrase("{name} is gone from TensorFlow 2, and TensorFlow 1 does not run on this Python", name=name),
        severity=Severity.WARNING if _ASKED.search(file.source.data) else Severity.ERROR,
        subject=name,
        advice="log with torch.utils.tensorboard.SummaryWriter, which needs no TensorFlow",
    )
