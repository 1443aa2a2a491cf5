"""The environment that makes a Python, and all its children, run CUDA programs on the NPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import npuify.process.environment as process
from npuify.run.settings import PREFIX

if TYPE_CHECKING:
    from npuify.run.settings import Settings


def environment(settings: Settings, base: dict[str, str]) -> dict[str, str]:
    """``base`` with what ``npuify run`` adds to it."""
    made = dict(base)
    if settings.device == "simulated":
        # As npuify.simulator.launch, but that real GPUs are not hidden: a program that reads CUDA_VISIBLE_DEVICES has
        # to find what its caller set.
        from npuify.simulator import settings as simulator

        made.update(simulator.from_environment().environment())
        process.spare_amx(made)
        process.let_begin(made, simulator.PREFIX)
    made.update(settings.environment())
    process.let_begin(made, PREFIX)
    return made
