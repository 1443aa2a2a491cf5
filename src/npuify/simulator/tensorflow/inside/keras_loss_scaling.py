"""``npu_device.train.optimizer.NpuLossScaleOptimizer``: TensorFlow's, on chips that show overflow as infinity."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from npuify.simulator.tensorflow.inside import journal


class NpuLossScaleOptimizer(tf.keras.mixed_precision.LossScaleOptimizer):
    """Keras's own, with the adapter's flag."""

    def __init__(
        self, inner_optimizer: Any, dynamic: bool = True, initial_scale: Any = None, dynamic_growth_steps: Any = None
    ) -> None:
        journal.note("loss_scale", manager="NpuLossScaleOptimizer", dynamic=dynamic)
        super().__init__(inner_optimizer, dynamic, initial_scale, dynamic_growth_steps)
        self._npu_last_step_finite = tf.Variable(False, trainable=False, name="npu_last_step_finite")

    @property
    def last_step_finite(self) -> Any:
        """Whether the last step had no overflow."""
        return self._npu_last_step_finite
