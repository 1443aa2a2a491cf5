"""Datasets: batches of one size for training, and what copies data to a GPU."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument, keyword_of
from npuify.rules.common.edits.call_edits import add_argument, has_unknown_arguments
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_BATCHES: Final = {"batch": 2, "padded_batch": 4}
"""Methods that make batches, with the number of arguments up to ``drop_remainder``."""
_FUNCTIONS: Final = ("tf.data.experimental.map_and_batch", "tf.contrib.data.map_and_batch")
_TRAINS: Final = re.compile(r"train", re.IGNORECASE)
_OTHERS: Final = re.compile(r"eval|valid|(?:^|_)(?:val|dev)(?:_|$)|test|pred|infer", re.IGNORECASE)
_DEPTH: Final = 6


@rule(
    "NPU918",
    "last-batch-of-other-size",
    Safety.REVIEW,
    Severity.INFO,
    words=("batch(",),
    also_in_file=("tf.data", "tensorflow.data", "tf1.data", "contrib.data", "from_tensor_slices", "recorddataset"),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: guides to porting, dynamic shapes",
)
def last_batch_of_other_size(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The last batch of training data is shorter: a new shape, for which the NPU compiles the graph again.

    Only data that is surely trained on is changed. Data to evaluate or predict on stays whole: samples would be lost.

    Before::

        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
        model = tf.keras.Model(a, b)
        model.fit(dataset, epochs=3)

    After::

        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32, drop_remainder=True)
        model = tf.keras.Model(a, b)
        model.fit(dataset, epochs=3)
    """
    size = argument(node, 1 if api_name(node.func, file) in _FUNCTIONS else 0, "batch_size")
    if isinstance(size, ast.Constant) and size.value == 1:
        return  # all batches have one size
    if has_unknown_arguments(node) or keyword_of(node, "drop_remainder") is not None:
        return
    name = api_name(node.func, file)
    if name in _FUNCTIONS:
        applied = file.parent(node)
        if len(node.args) > 3 or not (isinstance(applied, ast.Call) and isinstance(applied.func, ast.Attribute)):
            return
        if applied.func.attr != "apply":
            return
    else:
        applied = node
        if not (isinstance(node.func, ast.Attribute) and node.func.attr in _BATCHES):
            return
        if len(node.args) >= _BATCHES[node.func.attr] or not _is_dataset(node.func.value, file, _DEPTH):
            return
    if not _is_trained_on(applied, file):
        return
    yield file.report(
        node,
        "the last batch may be shorter, and each new shape is compiled for the NPU anew",
        edits=[add_argument(node, "drop_remainder=True", file)],
        subject="drop_remainder",
        advice="some samples of each epoch are left out then, and all of them where there are fewer than a batch; "
        "padded batches need fixed shapes, too"
        if "padded" in file.code(node.func)
        else "some samples of each epoch are left out then, and all of them where there are fewer than a batch",
    )


def _is_dataset(node: ast.expr, file: PythonFile, depth: int) -> bool:
    """Whether an expression surely is a Dataset of TensorFlow's, by the chain of calls that makes it."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if api_name(node.func, file).startswith(("tf.data.", "tf.contrib.data.")):
            return True
        node = node.func.value
    if isinstance(node, ast.Call):
        return api_name(node.func, file).startswith(("tf.data.", "tf.contrib.data."))
    if not isinstance(node, ast.Name) or not depth:
        return False
    values = file.assigned(node)
    others = [one for one in values if one is None or not _starts_with(one, node.id)]
    return bool(others) and all(one is not None and _is_dataset(one, file, depth - 1) for one in others)


def _starts_with(value: ast.expr, name: str) -> bool:
    """Whether a value is made of what the name held before."""
    while isinstance(value, (ast.Call, ast.Attribute)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, ast.Name) and value.id == name


def _is_trained_on(node: ast.expr, file: PythonFile) -> bool:
    """Whether a Dataset is surely trained on: what it is given to tells, else what it or its function is called."""
    outer: ast.AST = node
    for up in file.ancestors(node):
        method = isinstance(up, ast.Attribute) or (isinstance(up, ast.Call) and outer is up.func)
        if not method:
            break
        outer = up
    parent = file.parent(outer)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "fit":
        return outer in parent.args[:1]
    if isinstance(parent, ast.keyword) and parent.arg == "x":
        call = file.parent(parent)
        return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "fit"
    name = ""
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
        if isinstance(target, ast.Name) and (told := _told_by_use(target, file)) is not None:
            return told
    functions = (one.name for one in file.ancestors(node) if isinstance(one, ast.FunctionDef))
    function = next(functions, "")
    if _OTHERS.search(name) or _OTHERS.search(function):
        return False
    return _TRAINS.search(name) is not None or _TRAINS.search(function) is not None


def _told_by_use(name: ast.Name, file: PythonFile) -> bool | None:
    """Whether a name's Dataset is fitted, and not evaluated; None where it is given to neither."""
    scope, fitted = file.scope(name), False
    for one in file.nodes_on_lines_with(name.id):
        if not (isinstance(one, ast.Name) and one.id == name.id and isinstance(one.ctx, ast.Load)):
            continue
        if file.scope(one) is not scope:
            continue
        parent = file.parent(one)
        keyword = parent.arg if isinstance(parent, ast.keyword) else ""
        call = file.parent(parent) if isinstance(parent, ast.keyword) else parent
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr in ("evaluate", "predict") or keyword == "validation_data":
            return False
        if call.func.attr == "fit" and (one in call.args[:1] or keyword == "x"):
            fitted = True
    return True if fitted else None


@rule(
    "NPU923",
    "data-copied-to-gpu",
    Safety.REVIEW,
    Severity.WARNING,
    words=("prefetch_to_device", "copy_to_device"),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.ASSUMED,
    source="TensorFlow itself; not checked on a card",
)
def data_copied_to_gpu(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A dataset copies its elements to a GPU; the adapter brings data to the NPU by itself.

    Before::

        import tensorflow as tf

        dataset = tf.data.Dataset.range(8)
        dataset = dataset.apply(tf.data.experimental.prefetch_to_device("/gpu:0", 2))

    After::

        import tensorflow as tf

        dataset = tf.data.Dataset.range(8)
        dataset = dataset.prefetch(2)
    """
    name = api_name(node.func, file)
    if name.rpartition(".")[2] not in ("prefetch_to_device", "copy_to_device") or ".data." not in name:
        return
    edits = []
    call = file.parent(node)
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "apply":
        is_alone = len(call.args) == 1 and not call.keywords and call.args[0] is node
        size = argument(node, 1, "buffer_size")
        if is_alone and name.endswith("prefetch_to_device"):
            start = file.source.end(call.func.value)
            text = f".prefetch({file.code(size) if size is not None else 1})"
            edits = [file.edit(start, file.source.end(call), text)]
    yield file.report(
        node.func,
        phrase("{name} copies to a GPU; the adapter brings data to the NPU itself", name=name),
        edits=edits,
        subject=name,
        advice="" if edits else "delete it, or use prefetch",
    )


@rule(
    "NPU924",
    "queue-with-threads",
    Safety.REVIEW,
    Severity.WARNING,
    words=("train.batch(",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="hicann/tensorflow@82957b9:docs/en/tfadapter_1/migration/common_operation/tf_train_batch_manual_port.md",
)
def queue_with_threads(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``tf.train.batch`` is a queue, which fails on NPUs where more than one thread fills it.

    Before::

        import tensorflow as tf

        x = tf.placeholder(tf.float32)
        batch = tf.train.batch([image], batch_size=8, num_threads=4)

    After::

        import tensorflow as tf

        x = tf.placeholder(tf.float32)
        batch = tf.train.batch([image], batch_size=8, num_threads=1)
    """
    if api_name(node.func, file) != "tf.train.batch" or line_of(file) == "2":
        return
    threads = argument(node, 2, "num_threads")
    if threads is None or (isinstance(threads, ast.Constant) and threads.value == 1):
        return
    yield file.report(
        threads,
        "tf.train.batch with more than one thread fails on NPUs",
        edits=[file.replace(threads, "1")],
        subject="tf.train.batch",
        advice="better, read the data with tf.data",
    )
