"""Sessions of TensorFlow 1: their configuration carries the NPU's optimizer."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.common.edits.call_edits import add_argument, has_unknown_arguments, wrap
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, called, hides_all_gpus, line_of, may_be_given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


class _Taker(NamedTuple):
    """Where a call takes a session's configuration: its position, from 0, and its keyword."""

    position: int
    keyword: str = "config"


_TAKERS: Final = {
    "tf.Session": _Taker(2),
    "tf.InteractiveSession": _Taker(2),
    "tf.train.MonitoredTrainingSession": _Taker(8),
    "tf.train.SingularMonitoredSession": _Taker(3),
    "tf.train.ChiefSessionCreator": _Taker(2),
    "tf.train.WorkerSessionCreator": _Taker(2),
    "tf.contrib.slim.learning.train": _Taker(21, "session_config"),
    "tf.contrib.slim.evaluation.evaluate_once": _Taker(10, "session_config"),
    "tf.contrib.slim.evaluation.evaluation_loop": _Taker(13, "session_config"),
    "tf.contrib.training.train": _Taker(9),
    "tf.contrib.training.evaluate_once": _Taker(8),
    "tf.contrib.training.evaluate_repeatedly": _Taker(9),
    "tf.contrib.predictor.from_saved_model": _Taker(7),
    "tf.contrib.predictor.from_estimator": _Taker(4),
    "tf.contrib.predictor.from_contrib_estimator": _Taker(5),
}
"""Signatures of TensorFlow 1.15."""
_SUPERVISED: Final = {
    "managed_session": _Taker(1),
    "prepare_or_wait_for_session": _Taker(1),
}
"""Methods of ``tf.train.Supervisor``."""
_MANAGED: Final = {
    "prepare_session": _Taker(7),
    "recover_session": _Taker(6),
    "wait_for_session": _Taker(1),
}
"""Methods of ``tf.train.SessionManager``."""
_MAKERS: Final = {"tf.train.Supervisor": _SUPERVISED, "tf.train.SessionManager": _MANAGED}
_MONITORED: Final = "tf.train.MonitoredSession"
_DEVICE: Final = re.compile(rb"\btf\.device\(([^)\n]*)")
_MODEL: Final = re.compile(
    rb"(?i)keras|optimizer|minimize|gradient|variable|restore|graph_def|saved_model|checkpoint"
    rb"|\btf\.(?:layers|nn|train|contrib|estimator|function)\b"
)
"""What a file with a TensorFlow model has."""
_WITHOUT_GPU: Final = re.compile(
    r"device_count\s*=\s*\{\s*['\"]GPU['\"]\s*:\s*0\s*\}|visible_device_list\s*=\s*['\"]['\"]"
)


@rule(
    "NPU901",
    "session-without-npu",
    Safety.SAFE,
    words=(
        *("session", "learning.train", "evaluation.eval", "training.train(", "training.evaluate", "evaluate_once("),
        *("from_saved_model(", "predictor.from_estimator(", "from_contrib_estimator("),
    ),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    source="npu_bridge/npu_init.py: npu_config_proto; signatures of TensorFlow 1.15",
)
def session_without_npu(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A TensorFlow 1 session runs on the NPU when its configuration names the adapter's optimizer.

    ``npu_config_proto`` adds it to a configuration, turns soft placement on, and turns off XLA and the graph rewrites
    that the NPU does not know. Only TensorFlow's own sessions are meant, not those of requests or boto3.

    Before::

        import tensorflow as tf

        config = tf.ConfigProto()
        with tf.Session(config=config) as sess:
            sess.run(tf.global_variables_initializer())

    After::

        import tensorflow as tf

        from npu_bridge.npu_init import npu_config_proto

        config = tf.ConfigProto()
        with tf.Session(config=npu_config_proto(config_proto=config)) as sess:
            sess.run(tf.global_variables_initializer())
    """
    name, taker = _taker(node, file)
    if file.contains(b"NpuOptimizer") or file.contains(b"import npu_init"):
        return
    if name == _MONITORED:
        yield from _without_creator(node, file)
        return
    if taker is None:
        yield from _perhaps_given(node, file)
        return
    config = argument(node, taker.position, taker.keyword)
    if config is not None and _is_done(config, file):
        return
    untouched = _untouched(name, node, config, file)
    if untouched is not None:
        yield untouched
        return
    yield file.report(
        node,
        phrase("{name} runs on the CPU without the adapter's configuration", name=name),
        edits=_edits(node, config, taker, file),
        subject=name,
    )


def _perhaps_given(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A session of what a function is given as ``tf``, where nobody is seen to call it."""
    name = may_be_given(node.func, file)
    if name not in _TAKERS or line_of(file) == "2":
        return
    config = argument(node, _TAKERS[name].position, _TAKERS[name].keyword)
    if config is not None and _is_done(config, file):
        return
    yield file.report(
        node,
        phrase("whether this is {name} is not known: nobody is seen who gives TensorFlow to the function", name=name),
        safety=Safety.MANUAL,
        severity=Severity.WARNING,
        subject=name,
        advice="if it is, give it config=npu_config_proto(...)",
    )


def _untouched(name: str, node: ast.Call, config: ast.expr | None, file: PythonFile) -> Diagnostic | None:
    """What is said of a session that no edit is right for; None for others."""
    line = line_of(file)
    severity: Severity | None = Severity.WARNING
    if line == "2":
        severity = None
        message = phrase(
            "{name} is TensorFlow 1; the rest of the file is for 2, and one program runs code of one kind only",
            name=name,
        )
        advice = "run the session's code with npu_device.compat.enable_v1() in a program of its own"
    elif not line:
        message = phrase("{name} runs on the CPU; whether npu_bridge or npu_device is meant is open", name=name)
        advice = "say --tf-adapter 1.15 or --tf-adapter 2.6.5"
    elif config is None and has_unknown_arguments(node):
        message = phrase("the configuration of {name} may come with the arguments that are passed on here", name=name)
        advice = "give it npu_config_proto(config_proto=...), unless importing npu_bridge.npu_init does so already"
    elif hides_all_gpus(file) or (config is not None and _is_for_cpu(config, file)) or _prepares_on_cpu(file):
        severity = Severity.INFO
        message = phrase(
            "this {rpartition} is told to use no GPU; whether it is to use an NPU is yours to say",
            rpartition=name.rpartition(".")[2],
        )
        advice = "leave it, or pass config=npu_config_proto(...)"
    else:
        return None
    return file.report(node, message, safety=Safety.MANUAL, severity=severity, subject=name, advice=advice)


def _taker(node: ast.Call, file: PythonFile) -> tuple[str, _Taker | None]:
    name = api_name(node.func, file)
    if name in _TAKERS:
        return name, _TAKERS[name]
    func = node.func
    if isinstance(func, ast.Attribute):
        for maker, methods in _MAKERS.items():
            if func.attr in methods and _is_made_by(maker, func.value, file):
                return f"{maker.rpartition('.')[2]}.{func.attr}", methods[func.attr]
    return name, None


def _is_made_by(maker: str, node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression surely is of a class: all that its name is assigned are calls of it."""
    values = file.assigned(node) if isinstance(node, ast.Name) else [node]
    return bool(values) and all(isinstance(value, ast.Call) and api_name(value.func, file) == maker for value in values)


def _without_creator(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A ``MonitoredSession`` that makes its session by itself, with a configuration that nobody gave."""
    creator = argument(node, 0, "session_creator")
    if creator is not None and not (isinstance(creator, ast.Constant) and creator.value is None):
        return
    untouched = _untouched(_MONITORED, node, None, file)
    if untouched is not None:
        yield untouched
        return
    # Beside MonitoredSession, in the same module.
    made = f"{file.code(node.func.value)}.ChiefSessionCreator" if isinstance(node.func, ast.Attribute) else ""
    text = f"{made}(config=npu_config_proto())"
    edits = []
    if made:
        given = file.replace(creator, text) if creator is not None else None
        edits = [given or add_argument(node, f"session_creator={text}", file)]
    yield file.report(
        node,
        phrase("{name} runs on the CPU without the adapter's configuration", name=_MONITORED),
        edits=edits,
        safety=Safety.SAFE if edits else Safety.MANUAL,
        subject=_MONITORED,
        advice="" if edits else "give it session_creator=tf.train.ChiefSessionCreator(config=npu_config_proto())",
    )


def _written(node: ast.expr, file: PythonFile) -> list[ast.expr]:
    """An expression, and what it is assigned where it is a name."""
    return (
        [node, *(value for value in file.assigned(node) if value is not None)] if isinstance(node, ast.Name) else [node]
    )


def _is_done(config: ast.expr, file: PythonFile) -> bool:
    return any(called(value, "npu_config_proto") for value in _written(config, file))


def _prepares_on_cpu(file: PythonFile) -> bool:
    """Whether a file of a project that computes with something else has no model, and names no device but the CPU."""
    data = file.source.data
    devices = _DEVICE.findall(data)
    return (
        not file.project.on_tensorflow
        and bool(devices)
        and all(b"cpu" in one.lower() for one in devices)
        and _MODEL.search(data) is None
    )


def _is_for_cpu(config: ast.expr, file: PythonFile) -> bool:
    return any(_WITHOUT_GPU.search(file.code(value)) for value in _written(config, file))


def _edits(node: ast.Call, config: ast.expr | None, taker: _Taker, file: PythonFile) -> list[Edit]:
    if config is None:
        return [add_argument(node, f"{taker.keyword}=npu_config_proto()", file)]
    if isinstance(config, ast.Constant) and config.value is None:
        return [file.replace(config, "npu_config_proto()")]
    return wrap(config, "npu_config_proto(config_proto=", ")", file)
