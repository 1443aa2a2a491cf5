"""Several ranks with TensorFlow 2.

After hicann/tensorflow@82957b9:tf_adapter_2.x/python/npu_device/distribute, in own words.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from npuify.simulator.tensorflow.inside import collectives, device, journal, optimizers, world

WORLD = collectives.WORLD


def _several() -> bool:
    default = device.global_npu_ctx()
    return default is not None and default.is_cluster_worker()


def shard_and_rebatch_dataset(dataset: Any, global_bs: int) -> Any:
    """This rank's part of the data, and of the batch."""
    default = device.global_npu_ctx()
    if default is None or default.workers_num <= 1:
        return dataset, global_bs
    if global_bs % default.workers_num != 0:
        raise ValueError(f"Batch size must be divisible by num npus: {default.workers_num}")
    journal.note("shard", workers=default.workers_num, worker=default.worker_id, batch=global_bs)
    return dataset.shard(default.workers_num, default.worker_id), global_bs // default.workers_num


def _as_dense(value: Any) -> Any:
    return tf.convert_to_tensor(value)


def all_reduce(values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD) -> Any:
    """The reduction of a tensor or of several; None stays. Without other ranks they are given back."""
    if not _several():
        return values
    listed = list(values) if isinstance(values, (list, tuple)) else [values]
    there = [_as_dense(value) for value in listed if value is not None]
    if any(optimizers._REDUCED in getattr(value, "name", "") for value in there if not tf.executing_eagerly()):
        journal.tell("reduced-twice", "gradients that have been averaged over the ranks are averaged again")
    summed = collectives.reduce_together(there, "sum" if reduction == "mean" else reduction, group) if there else []
    if reduction == "mean":
        size = device.global_npu_ctx().workers_num
        with tf.name_scope(optimizers._REDUCED):
            summed = [
                each * tf.cast(1.0 / size, each.dtype) if each.dtype.is_floating else each / tf.cast(size, each.dtype)
                for each in summed
            ]
    journal.count("averaged gradients", len(summed))
    found = [None if value is None else summed.pop(0) for value in listed]
    return found if isinstance(values, (list, tuple)) else found[0]


def broadcast(values: Any, root_rank: int = 0, fusion: int = 2, fusion_id: int = 0, group: str = WORLD) -> None:
    """Gives all ranks the root's variables."""
    if not _several():
        return
    listed = list(values) if isinstance(values, (list, tuple)) else [values]
    if not listed:
        journal.tell(
            "broadcast-nothing", "npu_device.distribute.broadcast was given no variables: they do not exist yet"
        )
        return
    for variable, value in zip(
        listed, collectives.broadcast([_as_dense(each) for each in listed], root_rank, group=group)
    ):
        variable.assign(value)


def npu_distributed_keras_optimizer_wrapper(
    optimizer: Any, reduce_reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD
) -> Any:
    """The same optimizer, which averages the gradients that it applies."""
    optimizer = tf.keras.optimizers.get(optimizer)
    original = optimizer.apply_gradients
    journal.note("distributed_optimizer", optimizer=type(optimizer).__name__)

    @functools.wraps(original)
    def apply_gradients(grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        gradients, variables = zip(*grads_and_vars)
        return original(
            zip(all_reduce(list(gradients), reduce_reduction, fusion, fusion_id, group), variables), *args, **kwargs
        )

    optimizer.apply_gradients = apply_gradients
    return optimizer


class NPUBroadcastGlobalVariablesCallback(tf.keras.callbacks.Callback):
    """Does nothing: the adapter defines its ``on_batch_begin`` inside ``__init__``."""

    def __init__(self, root_rank: int) -> None:
        super().__init__()
        self.root_rank = root_rank
        self.broadcast_done = False
        if world.size() > 1:
            journal.tell(
                "callback-does-nothing",
                "NPUBroadcastGlobalVariablesCallback of npu_device does nothing: call distribute.broadcast()",
            )


def npu_callbacks_append(callbacks_list: Any = ()) -> Any:
    """The callbacks and that one; what is no list is thrown away."""
    if not isinstance(callbacks_list, list):
        callbacks_list = []
    callbacks_list.append(NPUBroadcastGlobalVariablesCallback(0))
    return callbacks_list


_sent: dict[int, Any] = {}


def broadcast_helper(variables: Any, root_rank: int = 0) -> None:
    """Those that have not been sent before."""
    fresh = [each for each in variables if id(each) not in _sent]
    if fresh:
        broadcast(fresh)
        _sent.update({id(each): each for each in fresh})


def broadcast_keras_model(model: Any, root_rank: int = 0) -> Any:
    """A model's trainable variables, where it has them already."""
    if isinstance(model, tf.keras.Model) and model.built:
        broadcast_helper(model.trainable_variables, root_rank)
    return model


class _Scope:
    """Gathers the variables that are made in a strategy's scope, and sends them once, as the first scope ends."""

    sent = False

    def __init__(self, inner: Any, made: list[Any]) -> None:
        self._inner, self._made = inner, made
        self._creator: Any = None

    def _create(self, next_creator: Any, **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        if variable.trainable:
            self._made.append(variable)
        return variable

    def __enter__(self) -> Any:
        self._creator = tf.variable_creator_scope(self._create)
        self._creator.__enter__()
        return self._inner.__enter__()

    def __exit__(self, *error: Any) -> Any:
        done = self._inner.__exit__(*error)
        self._creator.__exit__(*error)
        if not _Scope.sent:
            _Scope.sent = True
            broadcast_helper(self._made)
        elif self._made and any(id(each) not in _sent for each in self._made) and world.size() > 1:
            journal.tell(
                "scope-sends-once", "variables made after the first scope has ended are never sent to the other ranks"
            )
        return done


NpuBroadcastScopeContext = _Scope


def npu_broadcast_scope_wrapper(strategy: Any) -> Any:
    """A strategy whose scope sends variables."""
    if not isinstance(strategy, tf.distribute.Strategy) or hasattr(strategy, "_npu_scope_wrapped"):
        return strategy
    original = strategy.scope
    made: list[Any] = []
    strategy.scope = lambda: _Scope(original(), made)
    strategy._npu_scope_wrapped = True
    return strategy
