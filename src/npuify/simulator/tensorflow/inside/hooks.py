"""Hooks and callbacks of npu_bridge.

After hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/estimator/npu/npu_hook.py,
npu_callbacks.py, in own words.
"""

from __future__ import annotations

import os
from typing import Any

from npuify.simulator.tensorflow.inside import collectives, journal, world
from npuify.simulator.tensorflow.inside.framework import tf1

_Hook: Any = tf1.train.SessionRunHook


class NpuEmptyHook(_Hook):
    """Does nothing."""


class NPUShutDownHook(_Hook):
    """Ends the NPU with the session."""

    def __init__(self, scaffold: Any = None) -> None:
        self._operation: Any = None

    def begin(self) -> None:
        """Makes the operation."""
        from npuify.simulator.tensorflow.inside import sessions

        self._operation = sessions.shutdown_system()

    def end(self, session: Any) -> None:
        """Runs it."""
        session.run(self._operation)


def broadcast_variables(variables: Any, root_rank: int) -> Any:
    """Assigns to each variable what the root has."""
    made = [tf1.assign(each, collectives.broadcast([each], root_rank)[0]) for each in variables]
    return tf1.group(made)


def broadcast_global_variables(root_rank: int) -> Any:
    """The trainable variables only, whatever the name says: statistics of batch norm stay each rank's own."""
    return broadcast_variables(tf1.trainable_variables(), root_rank)


class NPUBroadcastGlobalVariablesHook(_Hook):
    """Gives all ranks the root's trainable variables, as the session begins."""

    def __init__(self, root_rank: Any = None, index: Any = None) -> None:
        self._root_rank = root_rank
        self._operation: Any = None

    def begin(self) -> None:
        """Makes the operation, for several ranks."""
        if world.size() > 1:
            self._operation = broadcast_global_variables(self._root_rank)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Runs it."""
        if self._operation is not None:
            session.run(self._operation)


class NPUCheckpointSaverHook(tf1.train.CheckpointSaverHook):
    """TensorFlow's; the card's differs in how it asks for the step."""


class NPUOutputTensorHook(tf1.train.LoggingTensorHook):
    """Gives a function the values of tensors, gathered over some steps."""

    def __init__(
        self, tensors: Any, dependencies: Any = None, output_fn: Any = None, output_every_n_steps: int = 0
    ) -> None:
        self._output = output_fn
        self._every = output_every_n_steps
        self._found: list[Any] = []
        self._steps = 0
        self._given = tensors
        if tensors is not None:
            if dependencies is not None:
                listed = dependencies if isinstance(dependencies, (tuple, list)) else [dependencies]
                with tf1.control_dependencies(listed):
                    tensors = {name: tf1.identity(value) for name, value in tensors.items()}
            super().__init__(tensors, every_n_iter=1 << 31)

    def begin(self) -> None:
        """As the hook that it is made of."""
        if self._given is not None:
            super().begin()

    def before_run(self, run_context: Any) -> Any:
        """Asks for the tensors at each step."""
        return tf1.train.SessionRunArgs(self._current_tensors) if self._given is not None else None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Keeps them, and gives them on when it is time."""
        if self._given is not None:
            self._found.append({tag: run_values.results[tag] for tag in self._tag_order})
        self._steps += 1
        if self._steps % self._every == 0:
            self._give()

    def end(self, session: Any) -> None:
        """Gives on what is left."""
        if self._found:
            self._give()

    def _give(self) -> None:
        self._output(self._found)
        del self._found[:]


class TellMeStepOrLossHook(_Hook):
    """Puts step and loss into the environment, where the vendor's tools read them."""

    def __init__(self, step: Any = None, total_step: Any = None, loss: Any = None, final_loss: Any = None) -> None:
        if step is None and loss is None:
            raise ValueError("One of step or loss must be specified")
        self._fetches = {name: each for name, each in (("STEP_NOW", step), ("LOSS_NOW", loss)) if each is not None}
        for name, value in (("TOTAL_STEP", total_step), ("TARGET_LOSS", final_loss)):
            if value is not None:
                os.environ[name] = str(value)

    def before_run(self, run_context: Any) -> Any:
        """Asks for them."""
        return tf1.train.SessionRunArgs(fetches=dict(self._fetches))

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Puts them there."""
        os.environ.update({name: str(value) for name, value in run_values.results.items()})


class NPULogOutfeedSessionHook(_Hook):
    """Prints what operators on the card log; the CPU's print themselves."""

    def __init__(self, output_stream: Any) -> None:
        pass


class NPUBroadcastGlobalVariablesCallback(tf1.keras.callbacks.Callback):
    """Gives all ranks the root's variables, as the first batch of Keras's training begins."""

    def __init__(self, root_rank: int) -> None:
        super().__init__()
        self.root_rank = root_rank
        self.broadcast_done = False

    def on_batch_begin(self, batch: Any, logs: Any = None) -> None:
        """Once."""
        if self.broadcast_done:
            return
        if world.size() > 1:
            backend = tf1.keras.backend
            session = backend.get_session()
            known = [each for each in tf1.global_variables() if getattr(each, "_keras_initialized", False)]
            session.run(broadcast_variables(known, self.root_rank))
        self.broadcast_done = True


def npu_hooks_append(hooks_list: Any = ()) -> Any:
    """The hooks and the broadcast hook. What is no list is thrown away, as the adapter does."""
    if not isinstance(hooks_list, list):
        _thrown("npu_hooks_append", hooks_list)
        hooks_list = []
    hooks_list.append(NPUBroadcastGlobalVariablesHook(0, int(os.getenv("RANK_ID", "0"))))
    return hooks_list


def npu_callbacks_append(callbacks_list: Any = ()) -> Any:
    """The callbacks and the broadcast callback. What is no list is thrown away, as the adapter does."""
    if not isinstance(callbacks_list, list):
        _thrown("npu_callbacks_append", callbacks_list)
        callbacks_list = []
    callbacks_list.append(NPUBroadcastGlobalVariablesCallback(0))
    return callbacks_list


def _thrown(function: str, given: Any) -> None:
    if given:
        kind = type(given).__name__
        journal.tell(
            f"{function}-no-list", f"{function} was given a {kind}: the adapter keeps lists only, the rest is lost"
        )
