"""``torch_npu.optim``."""

from __future__ import annotations

from npuify.simulator.optimizers import *  # noqa: F403
