"""TensorFlow 2: the NPU becomes the default device where the program starts."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.project.frameworks.tensorflow import written_for
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import (
    FRAMEWORKS,
    api_name,
    hides_all_gpus,
    is_program,
    is_test_file,
    line_of,
    trains,
)
from npuify.rules.tensorflow.programs import (
    computes,
    imports_a_model,
    imports_tensorflow,
    is_of_another,
    opening,
    prepares,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_TRAINING: Final = re.compile(rb"\bfit\b|\bfit_generator\b|\btrain_on_batch\b")
"""What stands in each file with a call that :func:`trains`."""


@rule(
    "NPU910",
    "npu-not-opened",
    Safety.REVIEW,
    words=("__main__", ".fit(", ".fit_generator(", ".train_on_batch(", "gradienttape", "tf.function"),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    source="npu_device/npu_device.py: open, as_default",
)
def npu_not_opened(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """A TensorFlow 2 program runs on the CPU until it makes the NPU its default device.

    That is done once, where the program starts, and before the project's own modules are imported: a function that
    became a ``tf.function`` earlier stays where it was. Options are set before ``open()``. The edit is made
    in programs only; a module that others import needs nothing.

    Before::

        import tensorflow as tf


        @tf.function
        def step(x):
            return x + 1


        if __name__ == "__main__":
            step(tf.constant(1))

    After::

        import tensorflow as tf
        import npu_device

        npu_device.open().as_default()


        @tf.function
        def step(x):
            return x + 1


        if __name__ == "__main__":
            step(tf.constant(1))
    """
    if file.contains(b"npu_device") or file.contains(b"npu_bridge"):
        return
    if is_of_another(file):
        return
    if not is_program(node) and not _starts_a_graph(node, file):
        return
    if is_test_file(file) or hides_all_gpus(file):
        return
    # Whether the program computes is asked last: for that the modules that it imports are read.
    line = line_of(file)
    if line not in ("2", "") or (line == "" and not file.contains(b"tensorflow")):
        return
    if line == "":
        training = next(filter(trains, ast.walk(node)), None) if _TRAINING.search(file.source.data) else None
        if training is not None and computes(node, file):
            yield file.report(
                training,
                "this program is for TensorFlow 1.15 or 2.6.5, one cannot tell; until it is moved it runs on the CPU",
                safety=Safety.MANUAL,
                severity=Severity.WARNING,
                subject="npu_device",
                advice="say --tf-adapter 1.15 or --tf-adapter 2.6.5",
            )
        return
    if _is_for_sessions(file):
        if computes(node, file):
            yield file.report(
                (0, 0),
                "the program is for TensorFlow 1, and the project for 2: opened for 2 it would still run on the CPU",
                safety=Safety.MANUAL,
                severity=Severity.WARNING,
                subject="npu_device",
                advice="move it to TensorFlow 2, or run it by itself with --tf-adapter 1.15",
            )
        return
    edit = opening(node, file)
    if edit is None:
        if any(imports_tensorflow(item) for item in ast.walk(node)) and computes(node, file):
            yield file.report(
                (0, 0),
                "the program has no import of TensorFlow at its top behind which the NPU could be opened",
                safety=Safety.MANUAL,
                subject="npu_device",
                advice="call npu_device.open().as_default() before anything of TensorFlow is used",
            )
        return
    if not computes(node, file):
        return
    yield file.report(
        (edit.start, edit.start),
        "the program runs on the CPU until the NPU is its default device",
        edits=[edit],
        subject="npu_device",
    )


@rule(
    "NPU929",
    "npu-not-opened-by-program",
    Safety.REVIEW,
    words=("__main__",),
    common_words=True,
    without_torch=True,
    source="npu_device/npu_device.py: open, as_default",
)
def npu_not_opened_by_program(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """A program whose TensorFlow 2 is all in modules of its own runs on the CPU until it opens the NPU.

    It is as with NPU910, for programs in which TensorFlow itself is not named: ``from sample import Generator`` brings
    the model. The NPU is opened before the first of these modules is imported.

    With model.py::

        import tensorflow as tf
        class Net(tf.keras.Model):
            @tf.function
            def step(self, x):
                with tf.GradientTape() as tape:
                    return self(x)

    Before::

        from model import Net

        if __name__ == "__main__":
            Net().step(1)

    After::

        import npu_device

        npu_device.open().as_default()

        from model import Net

        if __name__ == "__main__":
            Net().step(1)
    """
    # Programs that name TensorFlow are looked at by NPU910.
    lower = file.source.data.lower()
    if not file.project.on_tensorflow or any(word.encode() in lower for word in FRAMEWORKS):
        return
    if file.contains(b"npu_device") or line_of(file) != "2" or not is_program(node) or is_of_another(file):
        return
    if is_test_file(file) or hides_all_gpus(file) or prepares(file.source.relative) or not imports_a_model(file):
        return
    edit = opening(node, file)
    if edit is None:
        return
    yield file.report(
        (edit.start, edit.start),
        "the model of this program is in modules that it imports, and nothing opens the NPU: it runs on the CPU",
        edits=[edit],
        subject="npu_device",
    )


def _is_for_sessions(file: PythonFile) -> bool:
    """Whether a program has names that TensorFlow 2 does not have, and none that only it has."""
    one, two = written_for(file.source.data)
    return one and not two and not file.contains(b"compat")


def _starts_a_graph(tree: ast.Module, file: PythonFile) -> bool:
    """Whether a module calls a graph of its own as it is read, as programs without a main guard do."""
    if not file.contains(b"tf.function"):
        return False
    graphs = {name for one in tree.body for name in _made_a_graph(one, file)}
    kinds = (ast.Expr, ast.Assign, ast.AnnAssign, ast.With)
    started = [item for item in tree.body if isinstance(item, kinds)]
    if not graphs or any(_calls(item, graphs) for item in started):
        return bool(graphs)
    # What calls a graph starts it as well. Functions in which no word of a rule stands are in the whole file alone.
    try:
        whole = ast.parse(file.source.data)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    functions = [one for one in whole.body if isinstance(one, ast.FunctionDef)]
    for _ in functions:
        more = {one.name for one in functions if one.name not in graphs and _calls(one, graphs)}
        if not more:
            break
        graphs |= more
    return any(_calls(item, graphs) for item in started)


def _calls(item: ast.AST, names: set[str]) -> bool:
    """Whether a statement calls one of these functions, also as the text of a notebook's cell that was exported."""
    for part in ast.walk(item):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in names:
            return True
        if isinstance(part, ast.Call) and getattr(part.func, "attr", "") == "run_cell_magic" and part.args:
            cell = part.args[-1]
            text = cell.value if isinstance(cell, ast.Constant) and isinstance(cell.value, str) else ""
            if any(re.search(rf"\b{re.escape(name)}\(", text) for name in names):
                return True
    return False


def _made_a_graph(item: ast.stmt, file: PythonFile) -> Iterator[str]:
    if isinstance(item, ast.FunctionDef):
        called = (one.func if isinstance(one, ast.Call) else one for one in item.decorator_list)
        if any(api_name(one, file) == "tf.function" for one in called):
            yield item.name
    elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Call):
        if api_name(item.value.func, file) == "tf.function":
            yield from (one.id for one in item.targets if isinstance(one, ast.Name))


@rule(
    "NPU911",
    "step-runs-eagerly",
    Safety.MANUAL,
    Severity.WARNING,
    words=("gradienttape",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: guide to porting training loops",
)
def step_runs_eagerly(node: ast.With, file: PythonFile) -> Iterator[Diagnostic]:
    """A training step that is no ``tf.function`` runs eagerly, on the CPU: only graphs run on the NPU."""
    tape = next(
        (
            item.context_expr
            for item in node.items
            if isinstance(item.context_expr, ast.Call) and api_name(item.context_expr.func, file) == "tf.GradientTape"
        ),
        None,
    )
    if tape is None or line_of(file) == "1":
        return
    functions = [one for one in file.ancestors(node) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        if _is_graph(function, file) or (function.name == "train_step" and _may_be_keras(file.parent(function))):
            return
    if functions and _called_in_graph(functions[-1].name, file):
        eager = _used_eagerly(functions[-1].name, file)
        if eager is not None:
            yield file.report(
                eager,
                phrase("{name} runs as a tf.function elsewhere, and on the CPU where it is used here", name=eager.attr),
                subject="tf.GradientTape",
                advice="use the tf.function here as well, or see that the program is told to take it",
            )
        return
    yield file.report(
        tape,
        "the step around this GradientTape is no tf.function as far as this file shows; it then runs on the CPU",
        subject="tf.GradientTape",
        advice="put the step into a function with @tf.function, which takes tensors and has no side effects in Python",
    )


def _may_be_keras(owner: ast.AST | None) -> bool:
    """Whether a class is derived from another, which may be a model: Keras makes a graph of its ``train_step``."""
    if not isinstance(owner, ast.ClassDef):
        return False
    return any(not (isinstance(base, ast.Name) and base.id in ("object", "ABC")) for base in owner.bases)


def _is_graph(function: ast.FunctionDef | ast.AsyncFunctionDef, file: PythonFile) -> bool:
    """Whether a function is decorated with ``tf.function``, or with something of the project's own that may be it."""
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if api_name(target, file) == "tf.function" or file.qualname(target) is None:
            return True
    return f"tf.function({function.name}".encode() in file.source.data


def _called_in_graph(name: str, file: PythonFile) -> bool:
    for node in file.nodes_on_lines_with(name):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            around = [one for one in file.ancestors(node) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
            if called == name and any(_is_graph(one, file) for one in around):
                return True
    return False


def _used_eagerly(name: str, file: PythonFile) -> ast.Attribute | None:
    """Where a method is handed on as it is, outside of all graphs: ``step = self._train_step``."""
    for node in file.nodes_on_lines_with(name):
        if not (isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)):
            continue
        parent = file.parent(node)
        around = [one for one in file.ancestors(node) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if isinstance(parent, (ast.Assign, ast.Return)) and not any(_is_graph(one, file) for one in around):
            return node
    return None


@rule(
    "NPU912",
    "keras-runs-eagerly",
    Safety.REVIEW,
    Severity.WARNING,
    words=("run_eagerly",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter for 2.6.5: constraints",
)
def keras_runs_eagerly(node: ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """A Keras model that runs eagerly stays on the CPU: only graphs run on the NPU.

    Before::

        from tensorflow import keras

        model = keras.Sequential()
        model.compile("adam", "mse", run_eagerly=True)

    After::

        from tensorflow import keras

        model = keras.Sequential()
        model.compile("adam", "mse", run_eagerly=False)
    """
    if node.arg != "run_eagerly" or (isinstance(node.value, ast.Constant) and not node.value.value):
        return
    call = file.parent(node)
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "compile"):
        return
    is_true = isinstance(node.value, ast.Constant) and node.value.value is True
    yield file.report(
        node.value,
        "a model that runs eagerly stays on the CPU",
        edits=[file.replace(node.value, "False")] if is_true else [],
        subject="run_eagerly",
        advice="see that it is false on the NPU",
    )
