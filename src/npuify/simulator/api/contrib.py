"""What ``torch_npu.contrib``, its ``function`` and its ``module`` have."""

from npuify.simulator import contrib
from npuify.simulator.contrib import *  # noqa: F403

__all__ = list(contrib.__all__)
