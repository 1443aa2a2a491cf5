"""Operators of the adapter that have a counterpart in TensorFlow. The rest exist and refuse.

Signatures: hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/estimator/npu_ops.py, npu_unary_ops.py,
npu_aicore_ops.py.
"""

from __future__ import annotations

import numbers
from typing import Any

from npuify.simulator.tensorflow.inside import journal
from npuify.simulator.tensorflow.inside.framework import ops, tf, tf1

DEFAULT_GRAPH_SEED = 87654321
version = "v1.15.0"


def dropout(x: Any, keep_prob: Any, noise_shape: Any = None, seed: Any = None, name: Any = None) -> Any:
    """Dropout by the probability to keep. The random numbers are TensorFlow's, not an NPU's."""
    if tf.executing_eagerly():
        raise RuntimeError("npu_ops.dropout() is not compatible with eager execution.")
    x = ops.convert_to_tensor(x, name="x")
    if not x.dtype.is_floating:
        raise ValueError(f"x must be a floating point tensor. Got a {x.dtype} tensor instead.")
    if isinstance(keep_prob, numbers.Real) and not 0 < float(keep_prob) <= 1.0:
        raise ValueError(
            f"keep_prob must be a float value or a scalar tensor in the range (0, 1], got {float(keep_prob):g}"
        )
    journal.count("operator dropout")
    return tf1.nn.dropout(x, rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=name)


def dropout_v3(x: Any, keep_prob: Any, noise_shape: Any = None, seed: Any = None, name: Any = None) -> Any:
    """As :func:`dropout`."""
    return dropout(x, keep_prob, noise_shape, seed, name)


def _tanh_gelu(x: Any) -> Any:
    x = ops.convert_to_tensor(x)
    inner = tf.cast(0.7978845608028654, x.dtype) * (x + tf.cast(0.044715, x.dtype) * tf.pow(x, 3))
    return tf.cast(0.5, x.dtype) * x * (tf.cast(1.0, x.dtype) + tf.tanh(inner))


def _fast_gelu(x: Any) -> Any:
    """``x / (1 + exp(-1.702 |x|)) * exp(0.851 (x - |x|))``: CANN's operator FastGelu."""
    x = ops.convert_to_tensor(x)
    size = tf.abs(x)
    low = tf.exp(tf.cast(0.851, x.dtype) * (x - size))
    return x / (tf.cast(1.0, x.dtype) + tf.exp(tf.cast(-1.702, x.dtype) * size)) * low


def gelu(x: Any) -> Any:
    """``npu_device.ops.gelu``: the fast approximation in graphs, TensorFlow's own in eager code."""
    journal.count("operator gelu")
    if tf.executing_eagerly() and not getattr(x, "_keras_history", None):
        return tf.nn.gelu(x)
    return _fast_gelu(x)


def layer_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    begin_norm_axis: int = 0,
    begin_params_axis: int = 0,
    epsilon: float = 0.0000001,
    name: Any = None,
) -> Any:
    """The normalised tensor, the mean and the variance."""
    x = ops.convert_to_tensor(x)
    journal.count("operator layer_norm")
    rank = x.shape.rank
    axes = list(range(begin_norm_axis % rank, rank))
    mean, variance = tf1.nn.moments(x, axes, keep_dims=True)
    return tf1.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon), mean, variance


def prelu(x: Any, weight: Any) -> Any:
    """``x`` where it is positive, else ``weight * x``."""
    journal.count("operator prelu")
    return tf.maximum(x, tf.zeros_like(x)) + weight * tf.minimum(x, tf.zeros_like(x))


class _UnaryOps:
    """The object ``npu_unary_ops``, whose methods are operators."""

    def __getattr__(self, name: str) -> Any:
        if name == "gelu":
            journal.count("operator gelu")
            return _tanh_gelu
        if name == "fast_gelu":
            return _fast_gelu
        raise AttributeError(f"npu_unary_ops has no operator {name} that npuify knows")


npu_unary_ops = _UnaryOps()


def fast_gelu_v2(x: Any) -> Any:
    """As FastGelu here; the kernels differ in their last bits."""
    journal.count("operator gelu")
    return _fast_gelu(x)
