"""What names of TensorFlow, Keras and Horovod stand for under any alias, and which line of TensorFlow a file is for."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

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
_MODULES: Final = re.compile(r"tensorflow(?:\.compat\.v[12])?")
_ONLY_1: Final = re.compile(
    rb"\btf\.(?:Session|InteractiveSession|placeholder|contrib|app\.|flags\b|ConfigProto|GPUOptions|get_variable\b|"
    rb"global_variables_initializer|layers\.|logging\.|gfile\.|train\.(?:Adam|GradientDescent|Momentum|RMSProp)Optimizer|"
    rb"estimator\.tpu|enable_eager_execution|reset_default_graph|assign\b|variable_scope)"
    rb"|\btensorflow\.contrib\b|disable_v2_behavior"
)
_ONLY_2: Final = re.compile(
    rb"\btf\.(?:function\b|GradientTape|config\.(?:list_physical_devices|set_visible_devices|run_functions_eagerly)|"
    rb"keras\.mixed_precision|random\.set_seed|summary\.create_file_writer|keras\.optimizers\.legacy)"
)


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
    data = file.source.data
    one, two = _ONLY_1.search(data) is not None, _ONLY_2.search(data) is not None
    if file.tensorflow == "2":
        return "v1 on 2" if one and not two else "2"
    if one == two:
        return ""
    return "1" if one else "2"


def api_name(node: ast.AST | None, file: PythonFile) -> str:
    """The name of what an expression denotes, as the documentation calls it: ``tf.Session``, ``hvd.rank``, ``keras.…``.

    Names of ``tf.compat.v1`` are those of ``tf``. Empty for what belongs to none of the three, or is not known.
    """
    name = file.qualname(node)
    if name is None and isinstance(node, (ast.Attribute, ast.Name)):
        name = _by_either_import(node, file)
    if name is None:
        return ""
    for start, short in _HOMES:
        if name.startswith(start):
            return short + name[len(start) :]
    return ""


def _by_either_import(node: ast.Attribute | ast.Name, file: PythonFile) -> str | None:
    """The name where several imports bind the root, as in ``try`` and ``except``, and all are TensorFlow."""
    parts: list[str] = []
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        parts.append(base.attr)
        base = base.value
    if not isinstance(base, ast.Name):
        return None
    found = file.scope(base).lookup(base.id)
    if found is None or not all(one.kind == "import" and _MODULES.fullmatch(one.target) for one in found[1]):
        return None
    return ".".join(["tensorflow", *reversed(parts)])


def called(node: ast.expr | None, name: str) -> bool:
    """Whether an expression is a call of something that has this as its last name."""
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    return (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) == name
