"""Which calls make an Estimator of TensorFlow 1, and where each takes its run configuration."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.rules.common.calls import argument
from npuify.rules.tensorflow.estimators.top_level import top_level
from npuify.rules.tensorflow.names import api_name, called, short_name

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

OWN: Final = "tf.estimator.Estimator"
TPU: Final = ("tf.contrib.tpu.TPUEstimator", "tf.estimator.tpu.TPUEstimator")
CONFIG_AT: Final = {
    OWN: 2,
    "tf.estimator.BaselineClassifier": 5,
    "tf.estimator.BaselineEstimator": 3,
    "tf.estimator.BaselineRegressor": 4,
    "tf.estimator.BoostedTreesClassifier": 13,
    "tf.estimator.BoostedTreesEstimator": 12,
    "tf.estimator.BoostedTreesRegressor": 12,
    "tf.estimator.DNNClassifier": 10,
    "tf.estimator.DNNEstimator": 8,
    "tf.estimator.DNNLinearCombinedClassifier": 12,
    "tf.estimator.DNNLinearCombinedEstimator": 10,
    "tf.estimator.DNNLinearCombinedRegressor": 11,
    "tf.estimator.DNNRegressor": 9,
    "tf.estimator.LinearClassifier": 6,
    "tf.estimator.LinearEstimator": 4,
    "tf.estimator.LinearRegressor": 5,
    "tf.estimator.experimental.KMeans": 9,
    **dict.fromkeys(TPU, 2),
    "tf.keras.estimator.model_to_estimator": 4,
    "tf.contrib.boosted_trees.CoreGradientBoostedDecisionTreeEstimator": 7,
    "tf.contrib.boosted_trees.CoreGradientBoostedDecisionTreeQuantileRegressor": 8,
    "tf.contrib.boosted_trees.CoreGradientBoostedDecisionTreeRanker": 8,
    "tf.contrib.boosted_trees.GradientBoostedDecisionTreeClassifier": 7,
    "tf.contrib.boosted_trees.GradientBoostedDecisionTreeEstimator": 7,
    "tf.contrib.boosted_trees.GradientBoostedDecisionTreeQuantileRegressor": 8,
    "tf.contrib.boosted_trees.GradientBoostedDecisionTreeRanker": 8,
    "tf.contrib.boosted_trees.GradientBoostedDecisionTreeRegressor": 8,
    "tf.contrib.boosted_trees.CoreDNNBoostedTreeCombinedEstimator": 7,
    "tf.contrib.boosted_trees.DNNBoostedTreeCombinedClassifier": 8,
    "tf.contrib.boosted_trees.DNNBoostedTreeCombinedEstimator": 7,
    "tf.contrib.boosted_trees.DNNBoostedTreeCombinedRegressor": 7,
    "tf.contrib.estimator.RNNClassifier": 12,
    "tf.contrib.estimator.RNNEstimator": 10,
    "tf.contrib.factorization.GMM": 6,
    "tf.contrib.factorization.KMeansClustering": 9,
    "tf.contrib.factorization.WALSMatrixFactorization": 15,
    "tf.contrib.kernel_methods.KernelLinearClassifier": 6,
    "tf.contrib.learn.BaseEstimator": 1,
    "tf.contrib.learn.DNNClassifier": 10,
    "tf.contrib.learn.DNNEstimator": 8,
    "tf.contrib.learn.DNNLinearCombinedClassifier": 13,
    "tf.contrib.learn.DNNLinearCombinedEstimator": 11,
    "tf.contrib.learn.DNNLinearCombinedRegressor": 13,
    "tf.contrib.learn.DNNRegressor": 9,
    "tf.contrib.learn.DynamicRnnEstimator": 15,
    "tf.contrib.learn.Estimator": 2,
    "tf.contrib.learn.KMeansClustering": 9,
    "tf.contrib.learn.LinearClassifier": 8,
    "tf.contrib.learn.LinearEstimator": 7,
    "tf.contrib.learn.LinearRegressor": 8,
    "tf.contrib.learn.LogisticRegressor": 3,
    "tf.contrib.learn.SVM": 8,
    "tf.contrib.linear_optimizer.SDCALinearRegressor": 7,
    "tf.contrib.linear_optimizer.SDCALogisticClassifier": 7,
    "tf.contrib.tensor_forest.CoreTensorForestEstimator": 5,
    "tf.contrib.tensor_forest.MultiForestMultiHeadEstimator": 5,
    "tf.contrib.tensor_forest.TensorForestEstimator": 5,
    "tf.contrib.timeseries.ARRegressor": 12,
    "tf.contrib.timeseries.StructuralEnsembleRegressor": 11,
    "tf.contrib.timeseries.TimeSeriesRegressor": 4,
}
"""Where ``config`` stands, without ``self``. Source: the signatures of TensorFlow 1.15."""
KNOWN: Final = tuple(sorted({name.rpartition(".")[2] for name in CONFIG_AT}))
"""Their last names."""
_KINDS: Final = ("Estimator", "Classifier", "Regressor")


class Made(NamedTuple):
    """A call that makes an Estimator, or the part of one that its class inherits."""

    name: str
    """As the documentation calls it, without the modules between: ``tf.contrib.learn.DNNClassifier``."""
    config: ast.expr | None
    inherited: bool
    """Whether it is the ``__init__`` of a base."""
    certain: bool
    """False where ``super`` may mean another base first, so that positions say nothing."""


def estimator_made(node: ast.Call, file: PythonFile) -> Made | None:
    """What a call makes: an Estimator by its name, by ``super().__init__`` or by ``Estimator.__init__(self, ...)``."""
    func = node.func
    inherited = isinstance(func, ast.Attribute) and func.attr == "__init__"
    before, certain = 0, True
    if inherited and isinstance(func, ast.Attribute):
        if isinstance(func.value, ast.Call):
            name, certain = _of_super(node, func.value, file)
        else:
            name, before = estimator_name(func.value, file), 1
    else:
        name = estimator_name(func, file) or _of_own_class(func, file)
    if not name:
        return None
    at = CONFIG_AT.get(name)
    config = argument(node, before + at if at is not None and certain else len(node.args), "config")
    return Made(name, config, inherited, certain)


def takes_config(name: str) -> bool:
    """Whether an Estimator is known to take ``config``."""
    return name in CONFIG_AT


def estimator_name(node: ast.expr, file: PythonFile) -> str:
    """The name of the Estimator that an expression denotes; empty for anything else."""
    return _kind(api_name(node, file))


def _kind(name: str) -> str:
    """The name of the Estimator that a name of TensorFlow's stands for; empty for anything else."""
    if name in CONFIG_AT:
        return name
    parts = name.split(".")
    if name.startswith("tf.estimator."):
        # By the module where it is written: tensorflow.python.estimator.canned.dnn.
        short = f"tf.estimator.{parts[-1]}"
        return short if short in CONFIG_AT else ""
    if not name.startswith("tf.contrib.") or len(parts) < 4:
        return ""
    short = ".".join([*parts[:3], parts[-1]])
    return short if short in CONFIG_AT or parts[-1].endswith(_KINDS) else ""


def base_of(definition: ast.ClassDef, file: PythonFile) -> str:
    """The Estimator from which a class is derived directly; empty where it is derived from none."""
    return next((name for name in (estimator_name(base, file) for base in definition.bases) if name), "")


def _of_own_class(node: ast.expr, file: PythonFile) -> str:
    """The Estimator from which a class of the project's is derived that leaves ``__init__`` to it."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return ""
    found = top_level(node, file)
    if found is None:
        return ""
    source, definition = found
    if not isinstance(definition, ast.ClassDef) or has_own_init(definition):
        return ""
    names = [_kind(short_name(source.qualname(base) or "")) for base in definition.bases]
    return names[0] if len(names) == 1 else ""


def has_own_init(definition: ast.ClassDef) -> bool:
    """Whether a class takes other arguments than its base."""
    return any(
        isinstance(item, (ast.FunctionDef, ast.Assign)) and "__init__" in (getattr(item, "name", ""), *_targets(item))
        for item in definition.body
    )


def _targets(item: ast.stmt) -> list[str]:
    return [one.id for one in getattr(item, "targets", []) if isinstance(one, ast.Name)]


def _of_super(node: ast.Call, parent: ast.Call, file: PythonFile) -> tuple[str, bool]:
    """The Estimator among the bases of the class around a call of ``super``, and whether it is the only base."""
    if not called(parent, "super"):
        return "", False
    owner = next((one for one in file.ancestors(node) if isinstance(one, ast.ClassDef)), None)
    return (base_of(owner, file), len(owner.bases) == 1) if owner is not None else ("", False)


def initialises_its_base(definition: ast.ClassDef) -> bool:
    """Whether a class calls ``__init__`` of its base in its own."""
    return any(
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "__init__"
        for item in definition.body
        if isinstance(item, ast.FunctionDef) and item.name == "__init__"
        for inner in ast.walk(item)
    )
