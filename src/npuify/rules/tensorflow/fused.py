"""Operators that the adapter for TensorFlow 1.15 has in one piece: dropout and GELU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument, keyword_of
from npuify.rules.common.edits.call_edits import has_unknown_arguments
from npuify.rules.common.edits.statements import put_import
from npuify.rules.registry import rule
from npuify.rules.tensorflow.formulas import Gelu, gelu_of
from npuify.rules.tensorflow.names import FRAMEWORKS, api_name, hides_all_gpus, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PORTING: Final = (
    "hicann/tensorflow@82957b9:docs/en/tfadapter_1/migration/performance_tuning/affinity_interface_replacement.md"
)
_LAYERS: Final = frozenset(("tf.keras.layers.Dropout", "tf.layers.Dropout", "tf.layers.dropout"))
_CONVERTED: Final = "from npu_bridge.estimator.npu import npu_convert_dropout  # noqa: F401"
_ADVICE: Final = {
    Gelu.TANH: "npu_unary_ops.gelu(x) of npu_bridge.npu_init, in the place of all these lines and their comments",
    Gelu.ERF: "npu_unary_ops.gelu(x) of npu_bridge.npu_init is the formula with tanh, not erf: slightly other numbers",
}
_ATOMS: Final = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


@rule(
    "NPU926",
    "dropout-in-pieces",
    Safety.REVIEW,
    Severity.INFO,
    words=("dropout(",),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{_PORTING}; tf_adapter/python/npu_bridge/estimator/npu_ops.py: dropout",
)
def dropout_in_pieces(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``tf.nn.dropout`` of TensorFlow 1.15 is several operators on an NPU; the adapter's ``npu_ops.dropout`` is two.

    It keeps and scales as TensorFlow does, and draws other random numbers. A graph with it is read by TensorFlow with
    the adapter only. Layers get it by an import, for the whole process. With ``noise_shape`` nothing is changed: the
    adapter's mask has one bit for each value. With 2.6.5 the adapter replaces dropout by itself.

    Before::

        import tensorflow as tf

        x = tf.placeholder(tf.float32)
        y = tf.nn.dropout(x, rate=1 - keep)

    After::

        import tensorflow as tf

        from npu_bridge.npu_init import npu_ops

        x = tf.placeholder(tf.float32)
        y = npu_ops.dropout(x, keep_prob=1.0 - (1 - keep))
    """
    name = api_name(node.func, file)
    if name not in _LAYERS and name != "tf.nn.dropout":
        return
    if line_of(file) != "1" or hides_all_gpus(file) or "compat.v2" in (file.qualname(node.func) or ""):
        return
    if name in _LAYERS:
        if file.contains(b"npu_convert_dropout") or file.recall("NPU926"):
            return
        file.remember("NPU926", True)
        edits = [put_import(_CONVERTED, file.source.tree, node.lineno, file)]
    else:
        edits = _edits(node, file)
    if edits:
        yield file.report(
            node.func,
            phrase("{name} has a faster form on NPUs, which draws other random numbers", name=name),
            edits=edits,
            subject=name,
        )


def _edits(call: ast.Call, file: PythonFile) -> list[Edit]:
    """The adapter's call; empty where it means something else, or that cannot be told."""
    shape = argument(call, 2, "noise_shape")
    is_whole = shape is None or (isinstance(shape, ast.Constant) and shape.value is None)
    keep, rate = argument(call, 1, "keep_prob"), keyword_of(call, "rate")
    if has_unknown_arguments(call) or not is_whole or len(call.args) > 5 or (keep is None) == (rate is None):
        return []
    if keep is not None and isinstance(keep, ast.Constant) and not isinstance(keep.value, float):
        return []  # the adapter's operator takes no whole number
    edits = [file.replace(call.func, "npu_ops.dropout")]
    if rate is not None:
        text = file.code(rate)
        said = text if isinstance(rate, _ATOMS) else f"({text})"
        keyword = next(one for one in call.keywords if one.value is rate)
        edits.append(file.replace(keyword, f"keep_prob=1.0 - {said}"))
    return edits


@rule(
    "NPU927",
    "gelu-in-pieces",
    Safety.REVIEW,
    Severity.INFO,
    words=("tanh(", "erf("),
    also_in_file=FRAMEWORKS,
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source=f"{_PORTING}; hicann/ops-nn: activation/gelu/README.md, the formula with tanh",
)
def gelu_in_pieces(node: ast.FunctionDef, file: PythonFile) -> Iterator[Diagnostic]:
    """A function computes GELU step by step; the NPU has one operator for it, which computes the formula with tanh.

    What the function computes is tried out on numbers, whatever it is called: only what is GELU by tanh is edited. GELU
    by erf is told of: its numbers differ from the fourth digit on.

    Before::

        import numpy as np
        import tensorflow as tf

        x = tf.placeholder(tf.float32)

        def gelu(x):
            cdf = 0.5 * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))
            return x * cdf

    After::

        import numpy as np
        import tensorflow as tf

        from npu_bridge.npu_init import npu_unary_ops

        x = tf.placeholder(tf.float32)

        def gelu(x):
            return npu_unary_ops.gelu(x)
    """
    if node.decorator_list or line_of(file) != "1" or hides_all_gpus(file):
        return
    kind, parameter = gelu_of(node, file)
    if kind is None:
        return
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    start, end = file.source.start(body[0]), file.source.end(body[-1])
    is_exact = kind is Gelu.TANH and "#" not in file.source.segment(start, end)
    yield file.report(
        node,
        phrase("{name} computes GELU step by step; an NPU has one operator for it", name=node.name),
        edits=[file.edit(start, end, f"return npu_unary_ops.gelu({parameter})")] if is_exact else [],
        safety=Safety.REVIEW if is_exact else Safety.MANUAL,
        subject="gelu",
        advice="" if is_exact else _ADVICE[kind],
    )
