"""The environment that makes a Python, and all its children, run CUDA programs on the NPU."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.live.settings import PREFIX

if TYPE_CHECKING:
    from npuify.live.settings import Settings

SHIM = Path(__file__).resolve().parent / "shim"
SIMULATOR = SHIM.parent.parent / "simulator" / "shim"
HOME = Path(__file__).resolve().parent.parent.parent


def environment(settings: Settings, base: dict[str, str]) -> dict[str, str]:
    """``base`` with what ``npuify run`` adds to it."""
    made = dict(base)
    path = [str(SHIM), *filter(None, base.get("PYTHONPATH", "").split(os.pathsep))]
    if settings.device == "simulated":
        # As npuify.simulator.launch, but that real GPUs are not hidden: a program that reads CUDA_VISIBLE_DEVICES has
        # to find what its caller set.
        from npuify.simulator import settings as simulator
        from npuify.simulator.launch import spare_amx

        made.update(simulator.from_environment().environment())
        spare_amx(made)
        made[f"{simulator.PREFIX}_HOME"] = str(HOME)
        # First, since it looks for further sitecustomize modules in all folders but its own.
        path.insert(0, str(SIMULATOR))
    made.update(settings.environment())
    made[f"{PREFIX}_HOME"] = str(HOME)
    made["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path))
    return made
