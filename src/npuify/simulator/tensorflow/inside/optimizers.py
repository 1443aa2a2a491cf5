"""Optimizers whose gradients are averaged over the ranks, for TensorFlow 1.

After hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/estimator/npu/npu_optimizer.py, in own words. All
gradients of a step are one operator here, which counts as one reduction for each tensor.
"""

from __future__ import annotations

import functools
from typing import Any

from npuify.simulator.tensorflow.inside import collectives, journal, world
from npuify.simulator.tensorflow.inside.framework import tf, tf1

_REDUCED = "npuify_averaged"


def average(gradients: list[Any]) -> list[Any]:
    """The mean over the ranks of each gradient; None stays. Slices are gathered, their values divided."""
    if any(each is not None and _REDUCED in getattr(each, "name", "") for each in gradients if hasattr(each, "name")):
        journal.tell("reduced-twice", "gradients that have been averaged over the ranks are averaged again")
    found = list(gradients)
    dense = [place for place, each in enumerate(found) if each is not None and not isinstance(each, tf.IndexedSlices)]
    size = world.size()
    with tf1.name_scope("npuify_averaged"):
        if dense:
            summed = collectives.reduce_together([found[place] for place in dense], "sum")
            for place, each in zip(dense, summed):
                found[place] = each / tf.cast(size, each.dtype)
        for place, each in enumerate(found):
            if isinstance(each, tf.IndexedSlices):
                values = collectives.allgather(each.values, size)
                indices = collectives.allgather(each.indices, size)
                found[place] = tf.IndexedSlices(
                    values / tf.cast(size, values.dtype), indices, dense_shape=each.dense_shape
                )
    journal.count("averaged gradients", len([each for each in found if each is not None]))
    return found


def _averaged_pairs(pairs: Any) -> Any:
    pairs = list(pairs)
    if world.size() <= 1:
        return pairs
    return list(zip(average([gradient for gradient, _ in pairs]), [variable for _, variable in pairs]))


def npu_distributed_optimizer_wrapper(optimizer: Any) -> Any:
    """The same optimizer, whose functions for gradients average them."""
    if isinstance(optimizer, str):
        optimizer = tf1.keras.optimizers.get(optimizer)
    journal.note("distributed_optimizer", optimizer=type(optimizer).__name__)
    for name, pairs in (("compute_gradients", True), ("get_gradients", False), ("_compute_gradients", True)):
        if hasattr(optimizer, name):
            setattr(optimizer, name, _averaging(getattr(optimizer, name), pairs))
    return optimizer


def _averaging(original: Any, pairs: bool) -> Any:
    @functools.wraps(original)
    def computed(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        if pairs:
            return _averaged_pairs(found)
        return average(list(found)) if world.size() > 1 else found

    return computed


class _Around(tf1.train.Optimizer):
    """An optimizer around another."""

    def __init__(self, optimizer: Any, name: str) -> None:
        self._optimizer = optimizer
        super().__init__(use_locking=False, name=name)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        """The inner optimizer's."""
        return self._optimizer.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The inner optimizer's."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """The inner optimizer's."""
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self, *args: Any, **kwargs: Any) -> Any:
        """The inner optimizer's."""
        return self._optimizer.variables(*args, **kwargs)


class NPUDistributedOptimizer(_Around):
    """Averages what ``compute_gradients`` gives."""

    def __init__(self, optimizer: Any, is_weight_update_sharding: bool = False, name: Any = None) -> None:
        journal.note("distributed_optimizer", optimizer=type(optimizer).__name__)
        super().__init__(optimizer, name or f"Distributed{type(optimizer).__name__}")

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The inner optimizer's, averaged."""
        return _averaged_pairs(self._optimizer.compute_gradients(*args, **kwargs))


class NPUOptimizer(_Around):
    """Averages, where it is told to be distributed, and scales the loss."""

    def __init__(
        self,
        opt: Any,
        loss_scale_manager: Any = None,
        is_distributed: bool = False,
        is_loss_scale: bool = False,
        is_tailing_optimization: bool = False,
        name: Any = None,
    ) -> None:
        if is_loss_scale and loss_scale_manager is None:
            raise ValueError("is_loss_scale is True, loss_scale_manager can not be None")
        self._manager = loss_scale_manager if is_loss_scale else None
        self._is_distributed = is_distributed
        self._scaled: Any = None
        super().__init__(opt, name or f"NPUOptimizer{type(opt).__name__}")

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> Any:
        """Of the scaled loss, scaled back, averaged."""
        if self._manager is None:
            pairs = self._optimizer.compute_gradients(loss, *args, **kwargs)
        else:
            scale = self._manager.get_loss_scale()
            scaled = (
                (lambda: loss() * tf.cast(scale, tf.float32)) if callable(loss) else loss * tf.cast(scale, loss.dtype)
            )
            pairs = [
                (None if gradient is None else gradient / tf.cast(scale, gradient.dtype), variable)
                for gradient, variable in self._optimizer.compute_gradients(scaled, *args, **kwargs)
            ]
        return _averaged_pairs(pairs) if self._is_distributed else pairs

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        """Where no gradient has overflown; the manager is told."""
        if self._manager is None:
            return super().apply_gradients(grads_and_vars, global_step, name)
        pairs = list(grads_and_vars)
        finite = tf.reduce_all([tf.reduce_all(tf1.is_finite(g)) for g, _ in pairs if g is not None])
        applied = tf.cond(
            finite, lambda: tf.group(self._optimizer.apply_gradients(pairs, global_step, name)), lambda: tf.group()
        )
        return tf.group(applied, self._manager.update_loss_scale(finite))


class KerasDistributeOptimizer(tf1.keras.optimizers.Optimizer):
    """A Keras optimizer around another, whose gradients are averaged."""

    def __init__(self, optimizer: Any, name: str = "NpuKerasOptimizer", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._optimizer = npu_distributed_optimizer_wrapper(optimizer)

    def get_updates(self, loss: Any, params: Any) -> Any:
        """The inner optimizer's."""
        return self._optimizer.get_updates(loss, params)

    def apply_gradients(self, grads_and_vars: Any, name: Any = None, **kwargs: Any) -> Any:
        """The inner optimizer's."""
        return self._optimizer.apply_gradients(grads_and_vars, name)

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None, **kwargs: Any) -> Any:
        return self._optimizer._compute_gradients(loss, var_list, grad_loss)

    def get_config(self) -> Any:
        """The inner optimizer, which cannot be saved."""
        return {**super().get_config(), "optimizer": self._optimizer}


def _several(values: list[Any], reduction: str, group: str) -> list[Any]:
    size = int(world.get_ranksize())
    found = []
    for value in values:
        if isinstance(value, tf.IndexedSlices):
            gathered = collectives.allgather(value.values, size, group)
            indices = collectives.allgather(value.indices, size, group)
            if reduction == "mean":
                gathered = gathered / tf.cast(size, gathered.dtype)
            found.append(tf.IndexedSlices(gathered, indices, dense_shape=value.dense_shape))
            continue
        summed = collectives.allreduce(value, "sum" if reduction == "mean" else reduction, group=group)
        found.append(tf1.div(summed, tf.cast(size, summed.dtype)) if reduction == "mean" else summed)
    return found


def npu_allreduce(
    values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = collectives.WORLD
) -> Any:
    """The mean, where nothing else is said, of a tensor or of each of several."""
    if isinstance(values, (list, tuple)):
        return _several(list(values), reduction, group)
    return _several([values], reduction, group)[0]


def allreduce(tensor: Any, average: bool = True) -> Any:
    """The mean or the sum of a tensor or of slices."""
    return npu_allreduce(tensor, "mean" if average else "sum")
