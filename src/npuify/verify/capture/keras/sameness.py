"""Makes two runs of one program alike where devices would make them differ: seeds and dropout.

Keras runs one step at a time: several in one function are a loop of the graph, which hands nothing out.
"""

from __future__ import annotations

import random
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import nn_ops


def apply(settings: Any, store: Any) -> None:
    """Seed what the program draws from, unless it does so itself, and turn dropout off where that is asked for."""
    random.seed(settings.seed)
    np.random.seed(settings.seed % 2**32)
    tf.random.set_seed(settings.seed)
    store.note({"event": "seed", "seed": settings.seed})
    configure = keras.Model._configure_steps_per_execution
    keras.Model._configure_steps_per_execution = lambda model, _: configure(model, 1)
    if settings.dropout != "off":
        return
    layers = keras.layers
    for kind in (layers.Dropout, layers.AlphaDropout, layers.GaussianDropout, layers.GaussianNoise):
        kind.call = _layer
    mixin = keras.layers.recurrent.DropoutRNNCellMixin
    mixin.get_dropout_mask_for_cell = mixin.get_recurrent_dropout_mask_for_cell = _no_mask
    again(settings)


def again(settings: Any) -> None:
    """The functions, too: opening an NPU replaces them by the adapter's."""
    if settings.dropout == "off":
        for owner in (tf.nn, tf.compat.v2.nn):
            owner.dropout = _function
        nn_ops.dropout_v2 = _function


def _layer(self: Any, inputs: Any, training: Any = None) -> Any:
    return tf.identity(inputs)


def _function(x: Any, rate: Any = 0.0, noise_shape: Any = None, seed: Any = None, name: Any = None) -> Any:
    return tf.identity(x)


def _no_mask(self: Any, inputs: Any, training: Any, count: int = 1) -> None:
    return None
