"""What a step of training does: loss, gradients, the optimizer's settings, variables after it."""

from __future__ import annotations

import functools
import threading
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import backprop, context
from tensorflow.python.framework import ops


class _Thread(threading.local):
    def __init__(self) -> None:
        self.depth = 0


def install(log: Any, recorder: Any, writer: Any) -> None:
    """Put the hooks into tapes and optimizers."""
    base = keras.optimizer_v2.optimizer_v2.OptimizerV2
    begin, differentiate = base.__init__, backprop.GradientTape.gradient
    thread = _Thread()
    order: dict[int, int] = {}
    scales: dict[int, tuple[Any, Any]] = {}

    @functools.wraps(begin)
    def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        writer.optimizers += 1
        begin(optimizer, *args, **kwargs)

    @functools.wraps(differentiate)
    def gradient(
        made_by: Any,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = tf.UnconnectedGradients.NONE,
    ) -> Any:
        if writer.stopped or unconnected_gradients is not tf.UnconnectedGradients.NONE:
            return differentiate(made_by, target, sources, output_gradients, unconnected_gradients)
        graph = None if context.executing_eagerly() else ops.get_default_graph()
        seen = [one for one in recorder.seen.values() if one.graph is graph]
        recorder.seen.clear()
        found = differentiate(made_by, target, [sources, [one.tensor for one in seen]], output_gradients)
        loss, scale = scales.pop(id(target), (None, None))
        _told(log, recorder, target, sources, found, seen, scale if loss is target else None)
        return found[0]

    def applying(original: Any) -> Any:
        @functools.wraps(original)
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(grads_and_vars)
            named = [(one, recorder.variable(variable), variable) for one, variable in pairs]
            if thread.depth or writer.stopped or not any(name for _, name, _ in named):
                return original(optimizer, pairs, *args, **kwargs)
            number = order.setdefault(id(optimizer), len(order))
            _before(log, optimizer, number, named)
            thread.depth += 1
            try:
                result = original(optimizer, pairs, *args, **kwargs)
            finally:
                thread.depth -= 1
            _after(log, recorder, number, named)
            return result

        return apply_gradients

    scaled = tf.keras.mixed_precision.LossScaleOptimizer
    plain = scaled.get_scaled_loss

    @functools.wraps(plain)
    def get_scaled_loss(optimizer: Any, loss: Any) -> Any:
        result = plain(optimizer, loss)
        if isinstance(result, tf.Tensor):
            scales.clear()
            scales[id(result)] = (result, optimizer.loss_scale)
        return result

    scaled.get_scaled_loss = get_scaled_loss
    base.__init__ = init
    backprop.GradientTape.gradient = gradient
    base.apply_gradients = applying(base.apply_gradients)
    if "apply_gradients" in vars(scaled):
        scaled.apply_gradients = applying(scaled.apply_gradients)


def _told(log: Any, recorder: Any, target: Any, sources: Any, found: Any, seen: Any, scale: Any) -> None:
    """The loss, and gradients in the order in which they come: from the last layer to the first."""
    targets = tf.nest.flatten(target)
    if len(targets) == 1 and targets[0].shape.num_elements() == 1:
        log.add(
            "loss", {}, [("", targets[0]), *([("scale", tf.convert_to_tensor(scale))] if scale is not None else [])]
        )
    of_variables = {}
    for variable, one in zip(tf.nest.flatten(sources), tf.nest.flatten(found[0])):
        name = recorder.variable(variable) if isinstance(variable, tf.Variable) else ""
        if name and one is not None:
            of_variables[name] = tf.convert_to_tensor(one)
    for tensor, one in reversed(list(zip(seen, found[1]))):
        if one is not None:
            log.add("gradient", {"of": tensor.at}, [("", tf.convert_to_tensor(one))])
        for name in [each for each in of_variables if each.rpartition(".")[0] in tensor.names]:
            _gradient(log, name, of_variables.pop(name))
    for name, one in reversed(list(of_variables.items())):
        _gradient(log, name, one)


def _gradient(log: Any, name: str, tensor: Any) -> None:
    told = {"kind": "gradient", "when": "backward", "name": name, "optimizer": 0}
    log.add("value", told, [("", tensor)])


def _before(log: Any, optimizer: Any, number: int, named: Any) -> None:
    settings = {key: _plain(value) for key, value in optimizer.get_config().items() if key != "name"}
    settings = {key: value for key, value in settings.items() if value is not None}
    groups = [{"settings": settings, "parameters": [name for _, name, _ in named if name]}]
    log.add("optimizer", {"number": number, "class": type(optimizer).__name__, "groups": groups})
    for one, name, _ in named:
        if name:
            told = {
                "kind": "gradient",
                "when": "used" if one is not None else "none",
                "name": name,
                "optimizer": number,
            }
            log.add("value", told, [("", tf.convert_to_tensor(one))] if one is not None else [])


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return value
    return float(value) if isinstance(value, np.number) else None


def _after(log: Any, recorder: Any, number: int, named: Any) -> None:
    for _, name, variable in named:
        if name:
            recorder.value(variable, name, "parameter", "after", number)
    for name, variable in recorder.buffers():
        recorder.value(variable, name, "buffer", "after")
    log.add("step", {"optimizer": number})
