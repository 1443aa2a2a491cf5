"""Arguments for the names that stand in packages' places (``knowledge/data/members``).

Of a function they are what it is called with; of a class what it is made with, and then what is handed to it; of an
optimizer a weight and its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npuify.selftest.inside.samples.made import numbers, whole


def _scattered() -> tuple[Any, ...]:
    return (numbers(3, 6), whole([0, 2, 2, 1, 0, 3], "int64"), 1)


def _sorted() -> tuple[Any, ...]:
    return (numbers(6, 3), whole([0, 0, 1, 1, 1, 3], "int64"))


def _in_rows() -> tuple[Any, ...]:
    return (numbers(6, 3), whole([0, 2, 2, 5, 6], "int64"))


def _turned() -> tuple[Any, ...]:
    return (numbers(2, 5, 3, 8), numbers(5, 4), numbers(5, 4, seed=6))


def _stepped() -> tuple[Any, ...]:
    return (numbers(4, 8), numbers(4, 8, seed=6))


def _each(family: str, names: str, sample: Callable[[], tuple[Any, ...]]) -> dict[str, Callable[[], tuple[Any, ...]]]:
    return {f"packages.{family}:{name}": sample for name in names.split()}


def _bits(name: str, forms: str) -> str:
    return " ".join(form.format(name) for form in forms.split())


_PAGED = "{} {}8bit {}32bit Paged{} Paged{}8bit Paged{}32bit"
_PLAIN = "{} {}8bit {}32bit"
MEMBERS: dict[str, Callable[[], tuple[Any, ...]]] = {
    **_each("scatter", "scatter_sum scatter_add scatter_mul scatter_mean scatter_max scatter_min scatter", _scattered),
    **_each("scatter", "scatter_softmax scatter_log_softmax scatter_logsumexp scatter_std", _scattered),
    **_each("scatter", "segment_csr segment_sum_csr segment_add_csr segment_mean_csr", _in_rows),
    **_each("scatter", "segment_min_csr segment_max_csr", _in_rows),
    **_each("scatter", "segment_coo segment_sum_coo segment_add_coo segment_mean_coo", _sorted),
    **_each("scatter", "segment_min_coo segment_max_coo", _sorted),
    "packages.scatter:gather_csr": lambda: (numbers(4, 3), whole([0, 2, 2, 5, 6], "int64")),
    "packages.scatter:gather_coo": lambda: (numbers(4, 3), whole([0, 0, 1, 1, 1, 3], "int64")),
    "packages.activations:swiglu": lambda: (numbers(3, 8), numbers(3, 8, seed=6)),
    "packages.norms:rms_norm_fn": lambda: (numbers(3, 8), numbers(8), None),
    "packages.norms:layer_norm_fn": lambda: (numbers(3, 8), numbers(8), numbers(8, seed=6)),
    "packages.norms:RMSNorm": lambda: ((8,), numbers(3, 8)),
    **_each(
        "norms",
        "dropout_add_layer_norm dropout_add_rms_norm",
        lambda: (numbers(3, 8), numbers(3, 8, seed=6), numbers(8), numbers(8, seed=7), 0.0, 1e-5),
    ),
    **_each("rotary", "apply_rotary_emb apply_rotary_emb_func apply_rotary_emb_torch", _turned),
    "packages.rotary:apply_rotary": lambda: (*_turned(), 0),
    "packages.rotary:rotate_half": lambda: (numbers(2, 8),),
    "packages.rotary:apply_rotary_emb_qkv_": lambda: (numbers(2, 5, 3, 2, 8), numbers(5, 4), numbers(5, 4, seed=6)),
    "packages.rotary:apply_rotary_emb_kv_": lambda: (numbers(2, 5, 2, 2, 8), numbers(5, 4), numbers(5, 4, seed=6)),
    "packages.rotary:RotaryEmbedding": lambda: ((8,), numbers(2, 5, 3, 2, 8)),
    "packages.losses:cross_entropy_loss": lambda: (numbers(4, 9), whole([1, 8, 0, 3], "int64")),
    "packages.losses:CrossEntropyLoss": lambda: ((), numbers(4, 9), whole([1, 8, 0, 3], "int64")),
    "packages.ctc:CTCLoss": lambda: (
        (),
        numbers(7, 2, 5),
        whole([1, 2, 3, 4, 2]),
        whole([7, 6]),
        whole([3, 2]),
    ),
    **_each("cluster", "knn radius", lambda: (numbers(7, 3), numbers(4, 3, seed=6), 2)),
    **_each("cluster", "knn_graph radius_graph", lambda: (numbers(7, 3), 2)),
    "packages.cluster:nearest": lambda: (numbers(7, 3), numbers(4, 3, seed=6)),
    "packages.cluster:fps": lambda: (numbers(8, 3), None, 0.5, False),
    "packages.cluster:grid_cluster": lambda: (numbers(7, 2), numbers(2, seed=6).abs() + 0.5),
    "packages.sparse:coalesce": lambda: (whole([[2, 0, 2], [1, 0, 1]], "int64"), numbers(3), 3, 2),
    "packages.sparse:transpose": lambda: (whole([[2, 0, 1], [1, 0, 1]], "int64"), numbers(3), 3, 2),
    "packages.sparse:spmm": lambda: (whole([[2, 0, 1], [1, 0, 1]], "int64"), numbers(3), 3, 2, numbers(2, 4)),
    "packages.sparse:eye": lambda: (4,),
    "packages.apex_contrib:FastLayerNorm": lambda: ((8,), numbers(3, 8)),
    "packages.xformers_ops:SwiGLU": lambda: ((8, 6), numbers(3, 8)),
    "packages.xformers_ops:RMSNorm": lambda: ((8,), numbers(3, 8)),
    "packages.xformers_ops:swiglu": lambda: (
        *(numbers(3, 8), numbers(6, 8), None, numbers(6, 8, seed=6), None, numbers(8, 6), numbers(8)),
    ),
    "packages.xformers_ops:unbind": lambda: (numbers(3, 8), 0),
    "packages.xformers_ops:masked_matmul": lambda: (numbers(3, 8), numbers(8, 4), numbers(3, 4, seed=6) > 0),
    "packages.xformers_ops:index_select_cat": lambda: (
        [numbers(4, 3), numbers(5, 2)],
        [whole([2, 0], "int64"), whole([4, 1, 3], "int64")],
    ),
    "packages.xformers_ops:scaled_index_add": lambda: (
        *(numbers(4, 3, 2), whole([2, 0], "int64"), numbers(2, 3, 2, seed=6), numbers(2), 0.5),
    ),
    **_each("bitsandbytes", _bits("Adam", _PAGED), _stepped),
    **_each("bitsandbytes", _bits("AdamW", _PAGED), _stepped),
    **_each("bitsandbytes", _bits("Lion", _PAGED), _stepped),
    **_each("bitsandbytes", _bits("SGD", _PLAIN), _stepped),
    **_each("bitsandbytes", _bits("RMSprop", _PLAIN), _stepped),
    **_each("bitsandbytes", _bits("Adagrad", _PLAIN), _stepped),
}
"""Module below ``npuify.helpers`` and name → arguments for it, on the CPU."""
WITHOUT: dict[str, str] = {
    "GlobalOptimManager": "it computes nothing",
    "clip_grad_norm_": "it changes gradients in their place",
    "SoftmaxCrossEntropyLoss": "it is called by its apply alone",
}
"""Names that no question can be made of, and why."""
