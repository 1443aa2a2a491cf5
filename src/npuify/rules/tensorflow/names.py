"""What names of TensorFlow, Keras and Horovod stand for under any alias, and which line of TensorFlow a file is for."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, Literal

from npuify.analysis.engine import Reach
from npuify.analysis.values import Kind
from npuify.project.frameworks.tensorflow import disables_second, starts_something, written_for

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile
    from npuify.source.python import PythonSource
    from npuify.source.python.scopes import Binding

FRAMEWORKS: Final = ("tensorflow", "keras", "horovod", "tf.", "tf1.")
"""Words of which one stands in a file that the rules look at; ``tf`` may come from a module of the project's own."""

Line = Literal["1", "2", "v1 on 2", ""]
"""1.15 with npu_bridge, 2.6.5 with npu_device, code for 1 that runs on 2.6.5, or not known."""

_HOMES: Final = (
    ("tensorflow.compat.v1.", "tf."),
    ("tensorflow.compat.v2.", "tf."),
    ("tensorflow.python.keras.", "tf.keras."),
    ("tensorflow.python.client.session.", "tf."),
    ("tensorflow.python.client.", "tf.client."),
    ("tensorflow.python.framework.config.", "tf.config.experimental."),
    ("tensorflow.python.training.", "tf.train."),
    ("tensorflow.python.estimator.", "tf.estimator."),
    ("tensorflow_estimator.python.estimator.", "tf.estimator."),
    ("tensorflow.contrib.slim.python.slim.", "tf.contrib.slim."),
    ("tf_slim.", "tf.contrib.slim."),
    ("tensorflow.", "tf."),
    ("horovod.tensorflow.keras.", "hvd."),
    ("horovod.tensorflow.", "hvd."),
    ("horovod.keras.", "hvd."),
    ("keras.", "keras."),
)
"""Modules by how the tables call them; the first that fits counts."""
_HOPS: Final = 3
"""Modules of the project's own through which TensorFlow may come."""
_GIVEN: Final = re.compile(r"_?(?:tf|tensorflow|keras|hvd)\w*|K")
"""What parameters are called that such a module is given to; of others the whole program is not asked."""
_MODULES: Final = re.compile(r"tensorflow(?:\.compat\.v[12])?")


def line_of(file: PythonFile) -> Line:
    """The line of TensorFlow that a file is moved to: what the run aims at, else what the file uses."""
    known = file.recall("tensorflow line")
    if known is None:
        known = file.remember("tensorflow line", _line(file))
    answer: Line = known
    return answer


def _line(file: PythonFile) -> Line:
    if file.tensorflow == "1":
        return "1"
    marks = file.project.tensorflow_marks
    aim = file.tensorflow or marks.line
    one, two = written_for(file.source.data)
    if one and not two and not file.tensorflow and starts_something(file.source.data):
        return "1"
    if aim == "2":
        # A module for 1 beside others for 2 does not make the program one that runs code for 1.
        is_first = one and not two and (not marks.second or disables_second(file.source.data))
        return "v1 on 2" if is_first else "2"
    if one != two:
        return "1" if one else "2"
    return "1" if aim == "1" else ""


def api_name(node: ast.AST | None, file: PythonFile) -> str:
    """The name of what an expression denotes, as the documentation calls it: ``tf.Session``, ``hvd.rank``, ``keras.…``.

    Names of ``tf.compat.v1`` are those of ``tf``. Empty for what belongs to none of the three, or is not known.
    """
    name = file.qualname(node)
    if isinstance(node, (ast.Attribute, ast.Name)) and (name is None or file.project.holds(name)):
        name = _by_its_bindings(node, file) or name
    return short_name(name) if name is not None else ""


def short_name(qualified: str) -> str:
    """A dotted name as the documentation calls it; empty for what belongs to neither TensorFlow, Keras nor Horovod."""
    for start, short in _HOMES:
        if qualified.startswith(start):
            return short + qualified[len(start) :]
    return ""


def _by_its_bindings(node: ast.Attribute | ast.Name, file: PythonFile) -> str | None:
    """The name where several bindings give the root its meaning, here or in a module of the project, and all are
    TensorFlow, as in ``try`` and ``except``."""
    parts: list[str] = []
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        parts.append(base.attr)
        base = base.value
    if not (isinstance(base, ast.Name) and parts):
        return None
    known: dict[str, bool] = file.recall("modules called otherwise") or file.remember("modules called otherwise", {})
    found = file.scope(base).lookup(base.id)
    if found is None:
        return None
    if [one.kind for one in found[1]] == ["parameter"] and _GIVEN.fullmatch(base.id):
        given = _given(base, file)
        return ".".join([given, *reversed(parts)]) if given else None
    key = base.id if found[0] is file.source.scope else ""
    answer = known.get(key) if key else None
    if answer is None:
        answer = bool(found[1]) and all(_is_tensorflow(one, file.source, file, _HOPS) for one in found[1])
        if key:
            known[key] = answer
    return ".".join(["tensorflow", *reversed(parts)]) if answer else None


def _given(node: ast.Name, file: PythonFile) -> str:
    """The one module that all callers give a parameter; empty where that is none of the three, or is not known."""
    values = [value for value in file.values(node, Reach.PROGRAM) if value.kind is not Kind.NONE]
    if not values or any(value.kind is not Kind.LIBRARY_NAME for value in values):
        return ""
    names = {"tensorflow" if _MODULES.fullmatch(value.name) else value.name for value in values}
    return names.pop() if len(names) == 1 else ""


_SURELY_MEANT: Final = re.compile(r"_?(?:tf|tensorflow)\d?|keras|K")
_PARTS: Final = {"keras": "tf.keras", "K": "tf.keras.backend"}
"""Parts of TensorFlow by what parameters are called that are given them."""


def may_be_given(node: ast.expr, file: PythonFile) -> str:
    """The name that a call's function has if a parameter called ``tf``, ``keras`` or ``K`` is TensorFlow, or its part,
    where nobody is seen to call with it; empty elsewhere, and in projects that do not compute with TensorFlow."""
    if not (isinstance(node, ast.Attribute) and file.project.on_tensorflow):
        return ""
    parts: list[str] = []
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        parts.append(base.attr)
        base = base.value
    if not (isinstance(base, ast.Name) and _SURELY_MEANT.fullmatch(base.id)):
        return ""
    found = file.scope(base).lookup(base.id)
    if found is None or [one.kind for one in found[1]] != ["parameter"]:
        return ""
    if any(value.kind is not Kind.UNKNOWN for value in file.values(base, Reach.PROGRAM)):
        return ""
    return ".".join([_PARTS.get(base.id, "tf"), *reversed(parts)])


def _is_tensorflow(binding: Binding, source: PythonSource, file: PythonFile, hops: int) -> bool:
    """Whether a binding makes a name stand for TensorFlow itself."""
    target = binding.target if binding.kind == "import" else None
    if binding.kind == "assign":
        target = source.qualname(binding.value)
    if not target or _MODULES.fullmatch(target):
        return bool(target)
    if not hops or not file.project.holds(target):
        return False
    there = file.project.binding(target)
    return (
        there is not None and bool(there[1]) and all(_is_tensorflow(one, there[0], file, hops - 1) for one in there[1])
    )


def called(node: ast.expr | None, name: str) -> bool:
    """Whether an expression is a call of something that has this as its last name."""
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    return (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) == name


_TRAINING: Final = ("fit", "fit_generator", "train_on_batch")
_TEST: Final = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*\.py$|conftest\.py$|[^/]*_test\.py$)")


_HIDES_GPUS: Final = re.compile(
    rb"^os\.environ\[[\"']CUDA_VISIBLE_DEVICES[\"']\][ \t]*=[ \t]*[\"'](?:-1)?[\"']", re.MULTILINE
)


def hides_all_gpus(file: PythonFile) -> bool:
    """Whether a program says, wherever it is started, that it is to run on the CPU."""
    return file.contains(b"CUDA_VISIBLE_DEVICES") and _HIDES_GPUS.search(file.source.data) is not None


def is_test_file(file: PythonFile) -> bool:
    """Whether a file belongs to a project's tests, by its path; TensorFlow's own are called ``..._test.py``."""
    return _TEST.search(file.source.relative) is not None


def is_program(tree: ast.Module) -> bool:
    """Whether a module is started: it has a main guard, or trains when it is imported."""
    for item in tree.body:
        if isinstance(item, ast.If) and "__name__" in {getattr(one, "id", "") for one in ast.walk(item.test)}:
            return True
        if isinstance(item, (ast.Expr, ast.Assign)) and trains(item.value):
            return True
        if isinstance(item, (ast.For, ast.While)):
            return True
    return False


def trains(node: ast.AST) -> bool:
    """Whether an expression is a call by which Keras trains a model."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TRAINING


def name_of_tensorflow(tree: ast.Module) -> str:
    """The name by which a module has imported TensorFlow at its top; empty where it has not."""
    for item in tree.body:
        if isinstance(item, ast.Import):
            for alias in item.names:
                if alias.name == "tensorflow" or (alias.asname and alias.name == "tensorflow.compat.v1"):
                    return alias.asname or "tensorflow"
    return ""
