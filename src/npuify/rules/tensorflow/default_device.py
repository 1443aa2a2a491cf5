"""TensorFlow 2: the NPU becomes the default device where the program starts."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.analysis.project import module_name
from npuify.model import Evidence, Safety, Severity
from npuify.project.frameworks.tensorflow import written_for
from npuify.project.import_graph import imports_of
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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_GRAPHS: Final = re.compile(rb"GradientTape|tf\.function|saved_model\.load\(")
_TRAINS: Final = re.compile(rb"GradientTape|\.(?:fit|fit_generator|train_on_batch)\(")
_TRAINING: Final = re.compile(rb"\bfit\b|\bfit_generator\b|\btrain_on_batch\b")
"""What stands in each file with a call that :func:`trains`."""
_EXPORTS: Final = re.compile(rb"\bTFLiteConverter\b|\bTrtGraphConverter\w*\b|\btf2onnx\b")
_PREPARES: Final = re.compile(
    r"prepar|postproc|ckpt|convert|download|preprocess|export|tfrecord|visuali[sz]|plot|setup|(?:^|/|_)(?:data|dataset|create|build)",
    re.IGNORECASE,
)
"""Names of programs that do something else than train."""
_MOST: Final = 60
_CALLS: Final = re.compile(
    rb"\.(?:fit|fit_generator|predict\w*|evaluate|train_on_batch|load_weights|load_model|compile)\("
)


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
    if _is_of_another(file):
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
        if training is not None and _computes(node, file):
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
        if _computes(node, file):
            yield file.report(
                (0, 0),
                "the program is for TensorFlow 1, and the project for 2: opened for 2 it would still run on the CPU",
                safety=Safety.MANUAL,
                severity=Severity.WARNING,
                subject="npu_device",
                advice="move it to TensorFlow 2, or run it by itself with --tf-adapter 1.15",
            )
        return
    edit = _edit(node, file)
    if edit is None:
        if any(_imports_tensorflow(item) for item in ast.walk(node)) and _computes(node, file):
            yield file.report(
                (0, 0),
                "the program has no import of TensorFlow at its top behind which the NPU could be opened",
                safety=Safety.MANUAL,
                subject="npu_device",
                advice="call npu_device.open().as_default() before anything of TensorFlow is used",
            )
        return
    if not _computes(node, file):
        return
    yield file.report(
        (edit.start, edit.start),
        "the program runs on the CPU until the NPU is its default device",
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


def _computes(tree: ast.Module, file: PythonFile) -> bool:
    """Whether a program has a model of TensorFlow's; one that only reads or writes data needs no NPU.

    ``fit`` may be anybody's: it counts beside Keras, and where the model may come from a module of the project's own.
    """
    data = file.source.data
    if _EXPORTS.search(data) and not _TRAINS.search(data):
        return False
    if _GRAPHS.search(data):
        return True
    if _CALLS.search(data) is not None:
        return file.contains(b"keras") or any(_is_own(item, file) for item in tree.body)
    return _PREPARES.search(file.source.relative) is None and _imports_a_model(file)


_IMPORTS_ANOTHER = re.compile(
    rb"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+(?:torch|pytorch_lightning|lightning|mxnet|paddle|jax)\b"
)


def _is_of_another(file: PythonFile) -> bool:
    """Whether a program is one of another framework's: TensorFlow is not there, or only beside it.

    A module of the project's own may read TensorFlow's formats as well, and ``import tensorflow`` may stand there for
    its version alone.
    """
    data = file.source.data
    if _IMPORTS_ANOTHER.search(data) is None:
        return False
    return not file.contains(b"tensorflow") or (_GRAPHS.search(data) is None and not file.contains(b"keras"))


_IMPORTS_TORCH = re.compile(rb"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+torch\b")
_TORCH_MODEL = re.compile(rb"\btorch\.nn\b|\bnn\.Module\b|\btorch\.optim\b|\.backward\(|\.cuda\(|\btorch\.device\b")


class _Module(NamedTuple):
    """What a module of the project shows by its text."""

    trains: bool
    """Whether it trains or runs a model."""
    on_torch: bool
    """Whether it has a model of PyTorch's: TensorFlow beside it prepares data, and belongs on the CPU."""
    imports: tuple[str, ...]
    """The project's files that it imports."""


def _imports_a_model(file: PythonFile) -> bool:
    """Whether one of the project's modules that a program imports trains or runs a model, and none has one of torch."""
    found = False
    project, relative = file.project, file.source.relative
    waiting, seen = [*_imported(file.source.data, relative, project)], {relative}
    while waiting and len(seen) < _MOST:
        relative = waiting.pop()
        if relative in seen:
            continue
        seen.add(relative)
        project.dependencies.add(relative)
        module = _module(relative, project)
        if module.on_torch:
            return False
        found = found or module.trains
        waiting += module.imports
    return found


def _module(relative: str, project: ProjectIndex) -> _Module:
    """A module, read once for all programs; one that cannot be read shows nothing."""
    key = ("trains a model", relative)
    if key not in project.remembered:
        try:
            raw = (project.root / relative).read_bytes()
        except OSError:
            raw = b""
        trains_model = (b"tensorflow" in raw or b"keras" in raw) and _TRAINS.search(raw) is not None
        on_torch = _TORCH_MODEL.search(raw) is not None and _IMPORTS_TORCH.search(raw) is not None
        project.remembered[key] = _Module(trains_model, on_torch, _imported(raw, relative, project))
    known: _Module = project.remembered[key]
    return known


def _imported(raw: bytes, relative: str, project: ProjectIndex) -> tuple[str, ...]:
    found = imports_of(raw)
    package = module_name(relative).split(".")
    names = dict.fromkeys(found.absolute)
    for name in found.relative:
        dots = len(name) - len(name.lstrip("."))
        names[".".join([*package[: len(package) - dots], *filter(None, name.lstrip(".").split("."))])] = None
    files = (project.file_of(name) or project.file_of(name.rpartition(".")[0]) for name in names)
    return tuple(one for one in files if one is not None)


def _imports_tensorflow(item: ast.AST) -> bool:
    if isinstance(item, ast.Import):
        return any(alias.name.partition(".")[0] in ("tensorflow", "tensorflow_addons") for alias in item.names)
    return isinstance(item, ast.ImportFrom) and not item.level and (item.module or "").startswith("tensorflow")


def _is_own(item: ast.stmt, file: PythonFile) -> bool:
    """Whether a statement imports a module of the project's own, which may hold functions of TensorFlow."""
    if isinstance(item, ast.ImportFrom):
        module = item.module or ""
        top = module.partition(".")[0]
        own = file.project.file_of(top) is not None or (
            top in file.project.packages and file.project.file_of(module) is not None
        )
        return bool(item.level) or own
    names = [alias.name.partition(".")[0] for alias in item.names] if isinstance(item, ast.Import) else []
    return any(name in file.project.packages or file.project.file_of(name) is not None for name in names)


def _edit(tree: ast.Module, file: PythonFile) -> Edit | None:
    newline = file.source.text.newline
    lines = ["import npu_device", "", "npu_device.open().as_default()"]
    starts = file.source.text.line_starts
    if not any(_imports_tensorflow(item) or _is_own(item, file) for item in tree.body):
        return None
    for item in tree.body:
        if not isinstance(item, (ast.Import, ast.ImportFrom)) or item.col_offset:
            continue
        if _is_own(item, file):
            start = file.source.start(item)
            return file.edit(start, start, "".join(line + newline for line in lines) + newline)
        if _imports_tensorflow(item):
            line = item.end_lineno or item.lineno
            if line >= len(starts):
                return None
            if file.source.segment(file.source.end(item), starts[line]).lstrip().startswith(";"):
                return None
            following = starts[line + 1] if line + 1 < len(starts) else len(file.source.data)
            more = newline if file.source.segment(starts[line], following).strip() else ""
            return file.edit(starts[line], starts[line], "".join(text + newline for text in lines) + more)
    return None


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
