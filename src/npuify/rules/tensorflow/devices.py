"""Devices that TensorFlow programs name: ``tf.device("/gpu:0")``, and options of GPUs."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, is_test_file, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_GPU: Final = re.compile(r"(/?)((?:device:)?)gpu(:?)", re.IGNORECASE)
_CPU: Final = re.compile(r"\bcpu:\d", re.IGNORECASE)
_ONE: Final = re.compile(r"/?(?:device:)?gpu(?::0)?", re.IGNORECASE)
_MADE: Final = re.compile(r"(?:/job:\S*)?(?:/(?:device:)?|device:)gpu:(?:\d+|\*|%[ds]|\{\w*\})?|gpu:\d+", re.IGNORECASE)
"""A string that is a GPU for ``tf.device``, or the beginning of one."""


@rule(
    "NPU904",
    "tensorflow-gpu-device",
    Safety.SAFE,
    words=("gpu", "cpu:"),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: tf.device in the list of names, and soft placement in the guide to sess.run",
)
def tensorflow_gpu_device(node: ast.Call | ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """``tf.device`` names a GPU, which is not there.

    With TensorFlow 1.15 the adapter takes over what stands on the CPU, so that is the device to name. With 2.6.5
    ``tf.device`` does nothing once the NPU is the default device, and the code is left as it is. Operators spread over
    several GPUs of one process are towers: they become one process for each card, which no edit does.

    Before::

        import tensorflow as tf

        with tf.device("/gpu:0"):
            x = tf.placeholder(tf.float32)

    After::

        import tensorflow as tf

        with tf.device("/cpu:0"):
            x = tf.placeholder(tf.float32)
    """
    if isinstance(node, ast.Constant):
        yield from _named_elsewhere(node, file)
        return
    if api_name(node.func, file) != "tf.device" or not node.args:
        return
    device = node.args[0]
    text = file.code(device)
    line = line_of(file)
    if _GPU.search(text) is None:
        if line == "2" and isinstance(device, ast.Constant) and _CPU.search(text) is not None:
            yield file.report(
                device,
                "tf.device does nothing once the NPU is the default device, also where it names the host's CPU",
                severity=Severity.INFO,
                safety=Safety.MANUAL,
                subject="tf.device",
                advice='what has to run on the host takes context.device("CPU:0"), of tensorflow.python.eager',
                evidence=Evidence.PACKAGE,
                source="npu_device/npu_device.py: as_default",
            )
        return
    if line == "2":
        yield file.report(
            device,
            "tf.device does nothing once the NPU is the default device",
            severity=Severity.INFO,
            safety=Safety.MANUAL,
            subject="tf.device",
            evidence=Evidence.PACKAGE,
            source="npu_device/npu_device.py: as_default",
        )
    elif isinstance(device, ast.Constant) and isinstance(device.value, str) and _ONE.fullmatch(device.value):
        quote = text[-1]
        edits = [file.replace(device, f"{quote}/cpu:0{quote}")] if text[0] == quote else []
        yield file.report(device, "there is no GPU for tf.device to name", edits=edits, subject="tf.device")
    else:
        yield file.report(
            device,
            "operators are placed on one of several GPUs; a process has one NPU",
            safety=Safety.MANUAL,
            subject="tf.device",
            advice="keep one tower without tf.device, start one process for each card, and wrap the optimizer with "
            "npu_distributed_optimizer_wrapper instead of averaging the towers' gradients",
        )


def _named_elsewhere(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A GPU that is named where ``tf.device`` is not: a default, a list of towers, what a function returns."""
    if not (isinstance(node.value, str) and _MADE.fullmatch(node.value)) or not file.contains(b"device"):
        return
    within = file.parent(node)
    place = within if isinstance(within, ast.JoinedStr) else node
    around = list(file.ancestors(place))
    if isinstance(around[0] if around else None, ast.Expr):
        return  # a docstring
    if any(isinstance(one, ast.Call) and api_name(one.func, file) == "tf.device" for one in around):
        return
    if is_test_file(file):
        if file.recall("a GPU named in a test"):
            return  # one of them tells it
        file.remember("a GPU named in a test", True)
    is_one = _ONE.fullmatch(node.value) is not None
    line = line_of(file)
    yield file.report(
        place,
        "tf.device does nothing once the NPU is the default device"
        if line == "2"
        else "this names a GPU for tf.device; there is none, and operators without a place go to the NPU"
        if is_one
        else "this names one of several GPUs for tf.device; a process has one NPU",
        safety=Safety.MANUAL,
        severity=Severity.INFO if line == "2" or is_one else Severity.WARNING,
        subject="tf.device",
        advice=""
        if line == "2"
        else "it may stay, since npu_config_proto turns allow_soft_placement on"
        if is_one
        else "use one tower, start one process for each card, and wrap the optimizer with "
        "npu_distributed_optimizer_wrapper instead of averaging the towers' gradients",
    )


_WITHOUT_EFFECT: Final = (
    "allow_growth",
    "per_process_gpu_memory_fraction",
    "visible_device_list",
    "force_gpu_compatible",
)


def _is_of_rank(place: ast.AST, file: PythonFile) -> bool:
    """Whether an option is given the rank of the process on its machine."""
    statement = file.parent(place)
    return isinstance(statement, ast.Assign) and any(
        isinstance(one, ast.Attribute) and one.attr in ("local_rank", "get_local_rank")
        for one in ast.walk(statement.value)
    )


@rule(
    "NPU905",
    "gpu-options-of-session",
    Safety.MANUAL,
    Severity.INFO,
    words=("gpu_options",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.ASSUMED,
    source="TensorFlow itself: options that only a GPU device reads",
)
def gpu_options_of_session(node: ast.Attribute | ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """``gpu_options`` of a session's configuration are read by GPU devices only; they are left as they are.

    The NPU's memory is taken as needed, and the NPU of a process is chosen by ``ASCEND_DEVICE_ID``.
    """
    if isinstance(node, ast.keyword):
        if node.arg == "gpu_options":
            start = file.source.start(node)
            yield file.report(
                (start, start + len("gpu_options")), "gpu_options have no effect on an NPU", subject="gpu_options"
            )
        return
    if node.attr != "gpu_options":
        return
    parent = file.parent(node)
    option = parent.attr if isinstance(parent, ast.Attribute) else ""
    place = parent if isinstance(parent, ast.Attribute) else node
    advice = "set ASCEND_DEVICE_ID for the process" if option == "visible_device_list" else ""
    # A process of a job is given its card by ASCEND_DEVICE_ID: its rank chooses none. A number chooses one.
    is_chosen = option == "visible_device_list" and not _is_of_rank(place, file)
    severity = Severity.WARNING if is_chosen else Severity.INFO
    said = f"gpu_options.{option}" if option in _WITHOUT_EFFECT else "gpu_options"
    yield file.report(
        place, phrase("{said} has no effect on an NPU", said=said), severity=severity, subject=said, advice=advice
    )
