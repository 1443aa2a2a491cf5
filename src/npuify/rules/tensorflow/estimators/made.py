"""Estimators of TensorFlow 1: their run configuration carries the session's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument
from npuify.rules.common.defaults.conditions import by_default
from npuify.rules.common.edits.call_edits import add_argument, has_unknown_arguments, without_keyword, wrap
from npuify.rules.registry import rule
from npuify.rules.tensorflow.estimators.kinds import (
    CONFIG_AT,
    KNOWN,
    OWN,
    TPU,
    Made,
    base_of,
    estimator_made,
    estimator_name,
    has_own_init,
    initialises_its_base,
    takes_config,
)
from npuify.rules.tensorflow.estimators.run_configs import (
    RUN_CONFIGS,
    elsewhere,
    for_servers,
    is_edited_with_its_estimator,
    with_servers,
)
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, called, line_of, may_be_given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_WORDS: Final = (
    *("estimator", "classifier(", "classifier)", "classifier,", "regressor(", "regressor)", "regressor,", "kmeans("),
    *("kmeansclustering(", "gmm(", "svm(", "walsmatrixfactorization(", "__init__(", "ranker(", "experiment("),
)
_DROPPED: Final = ("train_distribute", "eval_distribute", "experimental_distribute", "device_fn", "protocol")


@rule(
    "NPU906",
    "estimator-without-npu",
    Safety.SAFE,
    words=_WORDS,
    also_in_file=FRAMEWORKS,
    without_torch=True,
    source="npu_bridge/npu_init.py: npu_run_config_init",
)
def estimator_without_npu(node: ast.Call | ast.ClassDef, file: PythonFile) -> Iterator[Diagnostic]:
    """An Estimator of TensorFlow 1 runs on the NPU when its run configuration carries the adapter's session settings.

    This is the small form, which keeps ``Estimator`` and ``RunConfig``. The adapter's own ``NPUEstimator`` and
    ``NPURunConfig`` also broadcast variables by themselves and take options such as ``iterations_per_loop``, but save
    checkpoints every 100 steps where nothing is said, and need ``JOB_ID``. They are written where nothing else will do:
    for parameter servers, which several processes with ``TF_CONFIG`` make up.

    A class derived from one passes its configuration to the base, and is edited there. Estimators of ``tf.contrib`` and
    those made of a Keras model take the same form, to be reviewed: on TensorFlow 1.15 all their sessions carry it.

    Before::

        import tensorflow as tf

        tf.logging.set_verbosity(tf.logging.INFO)
        config = tf.estimator.RunConfig(model_dir="out")
        estimator = tf.estimator.Estimator(model_fn=model, config=config)

    After::

        import tensorflow as tf

        from npu_bridge.npu_init import npu_run_config_init

        tf.logging.set_verbosity(tf.logging.INFO)
        config = tf.estimator.RunConfig(model_dir="out")
        estimator = tf.estimator.Estimator(model_fn=model, config=npu_run_config_init(run_config=config))
    """
    if isinstance(node, ast.ClassDef):
        yield from _derived(node, file)
        return
    made = estimator_made(node, file)
    if made is None:
        yield from _experiment(node, file)
        yield from _perhaps_given(node, file)
        return
    yield from _judged(node, made, file)


def _perhaps_given(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """An Estimator of what a function is given as ``tf``, where nobody is seen to call it."""
    name = may_be_given(node.func, file)
    if not takes_config(name) or line_of(file) == "2":
        return
    config = argument(node, CONFIG_AT[name], "config")
    if config is None or not _carries_npu(config, file):
        yield file.report(
            node,
            phrase(
                "whether this is {name} is not known: nobody is seen who gives TensorFlow to the function", name=name
            ),
            safety=Safety.MANUAL,
            severity=Severity.WARNING,
            subject=name,
            advice="if it is, give it config=npu_run_config_init(run_config=...)",
        )


def _judged(node: ast.Call, made: Made, file: PythonFile) -> Iterator[Diagnostic]:
    name, config = made.name, made.config
    is_tpu = name in TPU
    if is_tpu:
        yield from _on_tpus_by_default(node, file)
    if config is not None and _carries_npu(config, file):
        return
    line = line_of(file)
    by_hand = (
        not takes_config(name)
        or (made.inherited and is_tpu)
        or (line == "v1 on 2" and name.startswith("tf.contrib."))
        or (config is None and (has_unknown_arguments(node) or not made.certain))
    )
    if line in ("2", "") or by_hand:
        yield file.report(
            node,
            phrase("{name} needs the adapter's session settings in its run configuration", name=name),
            safety=Safety.MANUAL,
            severity=Severity.WARNING,
            subject=name,
            advice="it has no config that is known: see whether it takes one, else write its model_fn for "
            "tf.estimator.Estimator"
            if not takes_config(name)
            else "give it config=npu_run_config_init(run_config=...), with TensorFlow 2 from npu_device.compat.v1"
            + ("" if line else "; --tf-adapter 1.15 or 2.6.5 tells which is meant"),
        )
        return
    servers = with_servers(node, made, file) if name == OWN and line == "1" else None
    if servers is not None:
        yield _servers_told(node, servers, name, file)
        return
    if config is None:
        edits = [add_argument(node, "config=npu_run_config_init()", file)]
    elif isinstance(config, ast.Constant) and config.value is None:
        edits = [file.replace(config, "npu_run_config_init()")]
    else:
        edits = wrap(config, "npu_run_config_init(run_config=", ")", file)
    message = phrase("{name} runs on the CPU without the adapter's session settings", name=name)
    if is_tpu:
        yield file.report(
            node,
            phrase("{message}; it is right where use_tpu is false, so that it is an Estimator", message=message),
            edits=[*edits, *(_off_tpus(node, file) if config is not None else [])],
            safety=Safety.REVIEW,
            subject=name,
        )
    else:
        documented = name.startswith("tf.estimator.")
        yield file.report(node, message, edits=edits, safety=Safety.SAFE if documented else Safety.REVIEW, subject=name)


def _derived(definition: ast.ClassDef, file: PythonFile) -> Iterator[Diagnostic]:
    """A class that leaves the arguments of its base to those who make it."""
    base = base_of(definition, file)
    if not base or initialises_its_base(definition):
        return
    if not has_own_init(definition):
        made, is_seen = _made_here(definition, file), _is_seen(definition.name)
        if not is_seen:
            for call, kind in made:
                yield from _judged(call, kind, file)
        elsewhere_too = _is_made_elsewhere(definition.name, file)
        if (made or elsewhere_too) if is_seen else (made and not elsewhere_too):
            return
    yield file.report(
        next(one for one in definition.bases if estimator_name(one, file) == base),
        phrase(
            "{own} is a {name}, which runs on the CPU without the adapter's session settings",
            own=definition.name,
            name=base,
        ),
        safety=Safety.MANUAL,
        severity=Severity.ERROR,
        subject=base,
        advice="where it is made, give it config=npu_run_config_init(run_config=...)",
    )


def _is_seen(name: str) -> bool:
    """Whether the call of a class is looked at for its own words, in whatever module it stands."""
    return any(word in f"{name.lower()}(" for word in _WORDS)


def _made_here(definition: ast.ClassDef, file: PythonFile) -> list[tuple[ast.Call, Made]]:
    """The calls of a class in its own module."""
    calls = (one for one in file.nodes_on_lines_with(definition.name) if isinstance(one, ast.Call))
    found = ((one, estimator_made(one, file)) for one in calls if called(one, definition.name))
    return [(one, made) for one, made in found if made is not None]


def _is_made_elsewhere(name: str, file: PythonFile) -> bool:
    """Whether a class is made in another module."""
    for relative in file.project.files_with(name.encode()):
        source = file.project.load(relative) if relative != file.source.relative else None
        nodes: list[ast.AST] = []
        if source is not None:
            source.visit(source.lines_with_names((name,)), nodes.append)
        if any(called(one, name) for one in nodes if isinstance(one, ast.Call)):
            return True
    return False


def _experiment(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """An ``Experiment`` trains in the sessions of its estimator, which has to be in sight."""
    name = api_name(node.func, file)
    if not (name.startswith("tf.contrib.learn.") and name.endswith(".Experiment")):
        return
    calls = (one for one in file.nodes_on_lines_with("NPUEstimator", "__init__", *KNOWN) if isinstance(one, ast.Call))
    if any(called(one, "NPUEstimator") or estimator_made(one, file) is not None for one in calls):
        return
    yield file.report(
        node,
        phrase("{name} trains in the sessions of its estimator, which is not made in this file", name=name),
        safety=Safety.MANUAL,
        severity=Severity.WARNING,
        subject=name,
        advice="see that its estimator has config=npu_run_config_init(run_config=...)",
    )


def _off_tpus(estimator: ast.Call, file: PythonFile) -> list[Edit]:
    """``use_tpu=False``, where it is plainly true, as it is where nothing is said."""
    given = argument(estimator, 4, "use_tpu")
    if given is None:
        return [] if has_unknown_arguments(estimator) else [add_argument(estimator, "use_tpu=False", file)]
    return [file.replace(given, "False")] if isinstance(given, ast.Constant) and given.value is True else []


def _on_tpus_by_default(estimator: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """An option that nobody gives and that asks for TPUs."""
    given = argument(estimator, 4, "use_tpu")
    if given is None or isinstance(given, ast.Constant):
        return  # edited, where it is true
    known = by_default(given, file)
    if known is None or not known.value:
        return
    yield file.report(
        given,
        phrase("{name} is true where nothing is said: the program looks for a TPU and stops", name=file.code(given)),
        safety=Safety.MANUAL,
        severity=Severity.ERROR,
        subject="use_tpu",
        advice=phrase("start it with {option}=False", option=known.switch)
        if known.switch.startswith("--")
        else "make it false",
    )


def _carries_npu(config: ast.expr, file: PythonFile) -> bool:
    """Whether a run configuration has the adapter's session settings already."""
    values = file.assigned(config) if isinstance(config, ast.Name) else [config]
    return any(called(value, "npu_run_config_init") or called(value, "NPURunConfig") for value in values)


@rule(
    "NPU907",
    "run-config-distributes",
    Safety.REVIEW,
    words=("distribute=", "device_fn=", "protocol="),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: supported parameters of RunConfig",
)
def run_config_distributes(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A ``RunConfig`` asks TensorFlow to distribute, which it does inside one process; a process has one NPU.

    Before::

        import tensorflow as tf

        x = tf.placeholder(tf.float32)
        config = tf.estimator.RunConfig(model_dir="out", train_distribute=strategy)

    After::

        import tensorflow as tf

        x = tf.placeholder(tf.float32)
        config = tf.estimator.RunConfig(model_dir="out")
    """
    if api_name(node.func, file) not in RUN_CONFIGS:
        return
    if line_of(file) == "1" and for_servers(node, file) is not None:
        yield from _of_servers(node, file)
        return
    for keyword in node.keywords:
        if keyword.arg in _DROPPED and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None):
            edit = without_keyword(node, keyword, file)
            yield file.report(
                keyword.value,
                phrase("{arg} is not supported on NPUs", arg=keyword.arg),
                edits=[edit] if edit is not None else [],
                subject=f"RunConfig({keyword.arg}=)",
                advice="leave it out; on several cards start one process for each, and wrap the optimizer with "
                "npu_distributed_optimizer_wrapper",
            )


def _of_servers(config: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A configuration for parameter servers that estimators take which are made elsewhere, or nobody that is known."""
    taken = _is_taken(config, file)
    if taken and is_edited_with_its_estimator(config, file):
        # With its estimator, by NPU906.
        return
    edits = elsewhere(config, file)
    if taken and not edits:
        return
    yield _servers_told(config, edits, "RunConfig(train_distribute=)", file)


def _servers_told(node: ast.Call, edits: list[Edit], subject: str, file: PythonFile) -> Diagnostic:
    """What parameter servers take, at an estimator or at the configuration that asks for them."""
    return file.report(
        node,
        "parameter servers take NPUEstimator with an NPURunConfig: each process needs TF_CONFIG with a cluster and "
        "JOB_ID, else it stops, and saves every 100 steps where nothing is said",
        edits=edits,
        safety=Safety.REVIEW if edits else Safety.MANUAL,
        severity=Severity.ERROR,
        subject=subject,
        advice=""
        if edits
        else "write NPURunConfig(distribute=tf.distribute.experimental.ParameterServerStrategy(), "
        "mix_compile_mode=True, iterations_per_loop=1), by keyword, and NPUEstimator; no other strategy is taken, and "
        "none without a cluster in TF_CONFIG",
    )


def _is_taken(config: ast.Call, file: PythonFile) -> bool:
    """Whether an Estimator of the file surely takes this configuration."""
    for call in file.nodes_on_lines_with("Estimator", "__init__"):
        made = estimator_made(call, file) if isinstance(call, ast.Call) else None
        if made is not None and made.name == OWN:
            given = made.config
            if config in (file.assigned(given) if isinstance(given, ast.Name) else [given]):
                return True
    return False


@rule(
    "NPU925",
    "optimizer-of-tpus",
    Safety.REVIEW,
    words=("crossshardoptimizer",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.REPORTED,
    source="Ascend/ModelZoo-TensorFlow: migrated TPUEstimator programs",
)
def optimizer_of_tpus(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``CrossShardOptimizer`` averages over the cores of a TPU; the adapter's wrapper takes its place.

    A program that uses it under ``if use_tpu`` never comes there.

    Before::

        import tensorflow as tf

        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))

    After::

        import tensorflow as tf

        from npu_bridge.npu_init import npu_distributed_optimizer_wrapper

        optimizer = npu_distributed_optimizer_wrapper(tf.train.AdamOptimizer(0.1))
    """
    name = api_name(node.func, file)
    if name not in ("tf.contrib.tpu.CrossShardOptimizer", "tf.tpu.CrossShardOptimizer") or line_of(file) != "1":
        return
    if any(isinstance(one, ast.If) and "tpu" in file.code(one.test).lower() for one in file.ancestors(node)):
        return
    alone = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
    yield file.report(
        node.func,
        phrase("{name} averages over the cores of a TPU", name=name),
        edits=[file.replace(node.func, "npu_distributed_optimizer_wrapper")] if alone else [],
        subject=name,
    )
