"""Loss scaling on the first-generation 910, where overflow saturates and nothing that looks for Inf or NaN finds it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.common.edits.call_edits import has_unknown_arguments
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_RENAMED: Final = {
    "tf.contrib.mixed_precision.LossScaleOptimizer": "NPULossScaleOptimizer",
    "tf.contrib.mixed_precision.FixedLossScaleManager": "FixedLossScaleManager",
    "tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager": "ExponentialUpdateLossScaleManager",
    "tf.train.experimental.FixedLossScale": "FixedLossScaleManager",
}
"""Classes of TensorFlow 1 with those of the adapter that take the same arguments in the same order."""
_SECOND: Final = {
    "tf.keras.mixed_precision.LossScaleOptimizer": "npu_device.train.optimizer.NpuLossScaleOptimizer",
}
_OTHERS: Final = (
    "tf.train.experimental.MixedPrecisionLossScaleOptimizer",
    "tf.train.experimental.DynamicLossScale",
    "tf.keras.mixed_precision.experimental.LossScaleOptimizer",
)
_MANAGERS: Final = frozenset(
    (
        "tf.train.experimental.FixedLossScale",
        "tf.train.experimental.DynamicLossScale",
        "tf.contrib.mixed_precision.FixedLossScaleManager",
        "tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager",
    )
)


@rule(
    "NPU919",
    "loss-scaling-of-tensorflow",
    Safety.REVIEW,
    words=("lossscale",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="hicann/tensorflow@82957b9:docs/en/tfadapter_1/migration/performance_tuning/mixed_precision_training.md",
)
def loss_scaling_of_tensorflow(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """On the first-generation 910 overflow saturates, so that TensorFlow's loss scaling never lowers the scale.

    The adapter's classes ask the NPU whether it overflowed. They are needed on that chip only (``--soc 910A``); on
    others TensorFlow's own are right, and nothing is said. A manager of the adapter lowers by 0.8 after two bad steps
    unless it is told to do as TensorFlow does.
    """
    name = api_name(node.func, file)
    if name not in _RENAMED and name not in _SECOND and name not in _OTHERS:
        return
    if file.product is not None and file.product.name != "910":
        return
    known = file.product is not None
    edits = _edits(name, node, file) if known and not has_unknown_arguments(node) else []
    yield file.report(
        node.func,
        phrase("on the first-generation 910 overflow saturates, so that {name} never lowers the scale", name=name),
        edits=edits,
        safety=Safety.REVIEW if edits else Safety.MANUAL,
        severity=Severity.ERROR if known else Severity.INFO,
        subject=name,
        advice="on several cards it goes around npu_distributed_optimizer_wrapper(...), with is_distributed=True"
        if edits
        else "use NPULossScaleOptimizer (npu_bridge) or npu_device.train.optimizer.NpuLossScaleOptimizer there; "
        "other chips need no change",
    )


def _edits(name: str, node: ast.Call, file: PythonFile) -> list[Edit]:
    line = line_of(file)
    if line == "2":
        return [file.replace(node.func, _SECOND[name])] if name in _SECOND else []
    if line != "1":
        return []
    if name in _RENAMED:
        if any(keyword.arg == "loss_scale_value" for keyword in node.keywords):
            return []
        return [file.replace(node.func, _RENAMED[name])]
    if name.endswith("DynamicLossScale"):
        return [file.replace(node, _manager(node, file))]
    if name.endswith("MixedPrecisionLossScaleOptimizer"):
        optimizer, manager = argument(node, 0, "opt"), argument(node, 1, "loss_scale")
        if optimizer is not None and manager is not None and _is_manager(manager, file):
            start, end = file.source.start(node.func), file.source.end(node.func)
            edits = [file.edit(start, end, "NPULossScaleOptimizer")]
            keyword = next((one for one in node.keywords if one.value is manager), None)
            if keyword is not None:
                begin = file.source.start(keyword)
                edits.append(file.edit(begin, begin + len("loss_scale"), "loss_scale_manager"))
            return edits
    return []


def _manager(node: ast.Call, file: PythonFile) -> str:
    """The adapter's manager with what TensorFlow's does: lower by the multiplier after one bad step."""

    def given(position: int, keyword: str, default: str) -> str:
        value = argument(node, position, keyword)
        return default if value is None else file.code(value)

    multiplier = given(2, "multiplier", "2.0")
    simple = multiplier.replace(".", "").replace("_", "").isalnum()
    divisor = multiplier if simple else f"({multiplier})"
    return (
        f"ExponentialUpdateLossScaleManager(init_loss_scale={given(0, 'initial_loss_scale', '2**15')}, "
        f"incr_every_n_steps={given(1, 'increment_period', '2000')}, decr_every_n_nan_or_inf=1, "
        f"incr_ratio={multiplier}, decr_ratio=1.0 / {divisor})"
    )


def _is_manager(node: ast.expr, file: PythonFile) -> bool:
    values = file.assigned(node) if isinstance(node, ast.Name) else [node]
    return bool(values) and all(
        isinstance(value, ast.Call) and api_name(value.func, file) in _MANAGERS for value in values
    )
