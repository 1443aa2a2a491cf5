"""Loss scaling of npu_bridge, which TensorFlow 1.15 has the ground for in contrib.

After hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/estimator/npu/npu_loss_scale_optimizer.py and
npu_loss_scale_manager.py, in own words. Overflow is what the CPU shows of it: infinity and NaN. On chips of the first
generation a flag is raised instead.
"""

from __future__ import annotations

from typing import Any

from tensorflow.contrib.mixed_precision.python import (
    loss_scale_manager,
    loss_scale_optimizer,
)

from npuify.simulator.tensorflow.inside import collectives, journal, world
from npuify.simulator.tensorflow.inside.framework import tf


class FixedLossScaleManager(loss_scale_manager.FixedLossScaleManager):
    """A scale that stays."""

    def __init__(self, loss_scale: Any, enable_overflow_check: bool = True) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._enable_overflow_check = enable_overflow_check
        super().__init__(loss_scale=loss_scale)

    def get_enable_overflow_check(self) -> bool:
        """Whether steps with overflow are left out."""
        return self._enable_overflow_check


class ExponentialUpdateLossScaleManager(loss_scale_manager.ExponentialUpdateLossScaleManager):
    """A scale that grows while all goes well, and falls on overflow."""


class NPULossScaleOptimizer(loss_scale_optimizer.LossScaleOptimizer):
    """Scales the loss, and leaves out steps in which any rank had overflow."""

    def __init__(self, opt: Any, loss_scale_manager: Any, is_distributed: bool = False) -> None:
        self._is_distributed = is_distributed
        journal.note("loss_scale", manager=type(loss_scale_manager).__name__, distributed=is_distributed)
        if world.size() > 1 and not is_distributed:
            journal.tell(
                "loss-scale-not-distributed",
                "NPULossScaleOptimizer without is_distributed=True on several ranks: each leaves out steps of its own",
            )
        super().__init__(opt=opt, loss_scale_manager=loss_scale_manager)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        """Where nothing has overflown; the manager is told."""
        pairs = list(grads_and_vars)
        manager = self._loss_scale_manager
        if isinstance(manager, FixedLossScaleManager) and not manager.get_enable_overflow_check():
            finite = tf.constant(True)
        else:
            flags = [tf.reduce_all(tf.math.is_finite(getattr(g, "values", g))) for g, _ in pairs if g is not None]
            finite = tf.reduce_all(flags)
            if self._is_distributed and world.size() > 1:
                failed = collectives.allreduce(tf.cast(tf.logical_not(finite), tf.float32), "sum", fusion=0)
                finite = tf.equal(failed, 0)
        applied = tf.cond(
            finite, lambda: tf.group(self._opt.apply_gradients(pairs, global_step, name)), lambda: tf.group()
        )
        return tf.group(applied, manager.update_loss_scale(finite))
