"""Settings of TensorFlow that the NPU needs otherwise: XLA, placement, several devices of one process."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.common.edits.call_edits import add_argument
from npuify.rules.registry import rule
from npuify.rules.tensorflow.estimators.run_configs import asks_for_servers
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_LEVELS: Final = ("ON_1", "ON_2")
_SWITCHES: Final = {
    "tf.config.optimizer.set_jit": ("enabled", "False", Safety.REVIEW, "XLA does not reach the NPU"),
    "tf.config.set_soft_device_placement": (
        "enabled",
        "True",
        Safety.SAFE,
        "without soft placement operators that name a GPU stop the program",
    ),
    "tf.config.run_functions_eagerly": (
        "run_eagerly",
        "False",
        Safety.REVIEW,
        "functions that run eagerly stay on the CPU: only graphs run on the NPU",
    ),
    "tf.config.experimental_run_functions_eagerly": (
        "run_eagerly",
        "False",
        Safety.REVIEW,
        "functions that run eagerly stay on the CPU: only graphs run on the NPU",
    ),
}
"""Functions with the name of their argument, the value for the NPU, and why."""


_PASSES: Final = frozenset(
    (
        *("disable_model_pruning", "function_optimization", "constant_folding", "shape_optimization"),
        *("arithmetic_optimization", "loop_optimization", "dependency_optimization", "layout_optimizer"),
    )
)
"""Options of ``RewriterConfig`` that the vendor's guide wants left as TensorFlow has them."""


@rule(
    "NPU917",
    "setting-against-npu",
    Safety.REVIEW,
    Severity.WARNING,
    words=(
        *("global_jit_level", "set_jit", "set_soft_device_placement", "run_functions_eagerly", "allow_soft_placement"),
        *("rewrite_options", "rewriterconfig", "set_experimental_options", "auto_mixed_precision"),
    ),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: npu_bridge/npu_init.py, npu_config_proto; documentation of session settings",
)
def setting_against_npu(node: ast.Call | ast.Assign | ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """A setting turns XLA on, soft placement off, or graphs off: none of them goes with an NPU.

    Before::

        import tensorflow as tf

        tf.config.optimizer.set_jit(True)
        x = tf.placeholder(tf.float32)

    After::

        import tensorflow as tf

        tf.config.optimizer.set_jit(False)
        x = tf.placeholder(tf.float32)
    """
    if isinstance(node, ast.Call):
        yield from _switched(node, file)
        return
    name, value = _given(node)
    if name == "global_jit_level" and isinstance(value, ast.Attribute) and value.attr in _LEVELS:
        if api_name(value, file).startswith("tf.OptimizerOptions."):
            edit = file.rename_attribute(value, "OFF")
            yield file.report(
                value,
                "XLA does not reach the NPU; npu_config_proto turns it off, too",
                edits=[edit] if edit is not None else [],
                safety=Safety.SAFE,
                severity=Severity.INFO,
                subject="global_jit_level",
            )
    elif name in _PASSES and line_of(file) != "2":
        yield from _pass_of_graphs(name, value, node, file)
    elif name == "auto_mixed_precision" and not _is_off(value):
        yield from _mixed_by_graphs(node, value, file)
    elif name == "allow_soft_placement" and isinstance(value, ast.Constant) and value.value is False:
        if isinstance(node, ast.Assign) or api_name(getattr(file.parent(node), "func", None), file) == "tf.ConfigProto":
            yield file.report(
                value,
                "without soft placement operators that name a GPU stop the program; npu_config_proto turns it on, too",
                edits=[file.replace(value, "True")],
                safety=Safety.SAFE,
                subject="allow_soft_placement",
            )


def _experimental_options(options: ast.expr | None, file: PythonFile) -> Iterator[Diagnostic]:
    """Passes over graphs that a dict turns on or off."""
    if isinstance(options, ast.Dict):
        for key, value in zip(options.keys, options.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "auto_mixed_precision" and not _is_off(value):
                yield from _mixed_by_graphs(ast.Assign([], value), value, file)


def _is_off(value: ast.expr) -> bool:
    return (isinstance(value, ast.Constant) and value.value in (False, 0, 2)) or (
        isinstance(value, ast.Attribute) and value.attr in ("OFF", "DEFAULT")
    )


def _mixed_by_graphs(node: ast.Assign | ast.keyword, value: ast.expr, file: PythonFile) -> Iterator[Diagnostic]:
    """TensorFlow's own pass that casts parts of a graph to float16, which it does for GPUs."""
    if not (isinstance(node, ast.Assign) or file.code(getattr(file.parent(node), "func", value)).endswith("Config")):
        return
    yield file.report(
        value,
        "auto_mixed_precision rewrites the graph for CUDA",
        safety=Safety.MANUAL,
        severity=Severity.WARNING,
        subject="auto_mixed_precision",
        advice="set the adapter's option precision_mode_v2 to mixed_float16; on the first-generation 910 add its loss "
        "scale optimizer",
        evidence=Evidence.ASSUMED,
        source="hicann/tensorflow@82957b9:docs/en/tfadapter_1/migration/performance_tuning/mixed_precision_training.md",
    )


def _pass_of_graphs(
    name: str, value: ast.expr, node: ast.Assign | ast.keyword, file: PythonFile
) -> Iterator[Diagnostic]:
    """A pass of TensorFlow's over graphs that the adapter builds on is turned off."""
    if isinstance(node, ast.Assign):
        owner = node.targets[0].value if isinstance(node.targets[0], ast.Attribute) else None
        if not (isinstance(owner, ast.Attribute) and owner.attr == "rewrite_options"):
            return
    else:
        call = file.parent(node)
        if not (isinstance(call, ast.Call) and file.code(call.func).endswith("RewriterConfig")):
            return
    if name == "disable_model_pruning":
        against = isinstance(value, ast.Constant) and value.value is True
    else:
        against = isinstance(value, ast.Attribute) and value.attr == "OFF"
    if against:
        yield file.report(
            value,
            phrase("the adapter needs this pass over graphs on: {name}", name=name),
            safety=Safety.MANUAL,
            subject=name,
            advice="leave the option out",
            source="hicann/tensorflow@82957b9:docs/en/tfadapter_1/migration/script_migration/"
            "single_service_single_device_porting.md",
        )


def _given(node: ast.Assign | ast.keyword) -> tuple[str, ast.expr]:
    if isinstance(node, ast.keyword):
        return node.arg or "", node.value
    target = node.targets[0]
    return (target.attr if isinstance(target, ast.Attribute) and len(node.targets) == 1 else ""), node.value


def _switched(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    name = api_name(node.func, file)
    if name == "tf.config.optimizer.set_experimental_options":
        yield from _experimental_options(argument(node, 0, "options"), file)
        return
    if name not in _SWITCHES:
        return
    keyword, wanted, safety, why = _SWITCHES[name]
    value = argument(node, 0, keyword)
    known = value.value if isinstance(value, ast.Constant) else None
    if value is None or str(known) == wanted or (name == "tf.config.optimizer.set_jit" and known == ""):
        return
    is_known = known in (True, False, "autoclustering")
    yield file.report(
        node,
        phrase("{name}: {message}", name=name, message=why),
        edits=[file.replace(value, wanted)] if is_known else [],
        safety=safety if is_known else Safety.MANUAL,
        subject=name,
        advice="" if is_known else phrase("see that it is {wanted} on the NPU", wanted=wanted),
    )


_OF_ONE_PROCESS: Final = frozenset(
    f"tf.distribute.{name}"
    for name in (
        "MirroredStrategy",
        "MultiWorkerMirroredStrategy",
        "experimental.MultiWorkerMirroredStrategy",
        "experimental.CentralStorageStrategy",
        "TPUStrategy",
        "experimental.TPUStrategy",
        "experimental.ParameterServerStrategy",
        "ParameterServerStrategy",
    )
)


@rule(
    "NPU921",
    "strategy-of-tensorflow",
    Safety.REVIEW,
    words=("strategy",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="hicann/tensorflow@82957b9:docs/en/tfadapter_2/migration/script_migration/manual_porting.md; "
    "convert_tf2npu for 1.15",
)
def strategy_of_tensorflow(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A strategy of TensorFlow spreads a model over the devices of a process, which has one NPU.

    With 2.6.5 the program runs as one device, and the code around the strategy stays as it is; several cards take one
    process each, with ``npu_device.distribute``. With 1.15 ``NPUStrategy`` shards datasets and counts the ranks, and
    ``npu_distributed_optimizer_wrapper`` averages gradients.

    Before::

        import tensorflow as tf

        strategy = tf.distribute.MirroredStrategy()
        step = tf.function(train)

    After::

        import tensorflow as tf

        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        step = tf.function(train)
    """
    name = api_name(node.func, file)
    is_contrib = name.startswith("tf.contrib.distribute.") and name.endswith("Strategy")
    if name not in _OF_ONE_PROCESS and not is_contrib:
        return
    line = line_of(file)
    servers = "ParameterServer" in name
    if servers and line == "1" and asks_for_servers(file):
        # Told with the estimator that it is for.
        return
    edits = []
    if line == "2":
        advice = (
            "on several cards start one process for each: the optimizer wrapper or all_reduce, broadcast, and shard of "
            "npu_device.distribute"
        )
        if name.endswith(".MirroredStrategy"):
            edits = _as_one_device(node, name, file)
    elif servers:
        advice = "give NPURunConfig(distribute=..., mix_compile_mode=True, iterations_per_loop=1), with TF_CONFIG"
    else:
        advice = "start one process for each card, and wrap the optimizer with npu_distributed_optimizer_wrapper"
        if line == "1":
            edits = [file.replace(node, "npu_strategy.NPUStrategy()")]
    yield file.report(
        node.func,
        phrase(
            "{name} works inside one process, which has one NPU; strategies of TensorFlow are not supported", name=name
        ),
        edits=edits,
        safety=Safety.REVIEW if edits else Safety.MANUAL,
        subject=name,
        advice=advice,
    )


def _as_one_device(node: ast.Call, name: str, file: PythonFile) -> list[Edit]:
    func = node.func
    for _ in range(name.count(".") - 1):
        if not isinstance(func, ast.Attribute):
            return []
        func = func.value
    if not file.code(func).endswith("distribute"):
        return []
    return [file.replace(node, f'{file.code(func)}.OneDeviceStrategy("/cpu:0")')]


@rule(
    "NPU922",
    "function-compiled-by-xla",
    Safety.SAFE,
    Severity.WARNING,
    words=("jit_scope",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="hicann/tensorflow@82957b9:convert_tf2npu/ast_impl.py",
)
def function_compiled_by_xla(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A scope asks XLA to compile what is built in it; XLA does not reach the NPU.

    Before::

        import tensorflow as tf

        with tf.xla.experimental.jit_scope():
            y = tf.matmul(a, b)
            x = tf.placeholder(tf.float32)

    After::

        import tensorflow as tf

        with tf.xla.experimental.jit_scope(compile_ops=False):
            y = tf.matmul(a, b)
            x = tf.placeholder(tf.float32)
    """
    if api_name(node.func, file) not in (
        "tf.xla.experimental.jit_scope",
        "tf.contrib.compiler.jit.experimental_jit_scope",
    ):
        return
    given = argument(node, 0, "compile_ops")
    if isinstance(given, ast.Constant) and given.value is False:
        return
    edits = [file.replace(given, "False")] if given is not None else [add_argument(node, "compile_ops=False", file)]
    yield file.report(node, "XLA does not reach the NPU", edits=edits, subject="jit_scope")
