"""Gates on the compute capability and the properties of a GPU.

torch_npu answers None where a number is compared. (0, 0) takes the branch for the oldest GPUs, which asks least of the
device; ``npuify migrate`` writes the same. TORCH_NPU_DEVICE_CAPABILITY=8.0 still chooses another.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from typing import Any

import torch

from npuify.run.frames import asking, is_inside

_NUMBERS = ("major", "minor", "multi_processor_count", "warp_size", "max_threads_per_multi_processor")


class Properties:
    """What torch_npu says of a card, with numbers in place of None, for code that compares them."""

    def __init__(self, known: Any, capability: tuple[int, int]) -> None:
        self._known = known
        self._capability = capability

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._known, name, None) if name in _NUMBERS else getattr(self._known, name)
        if found is not None or name not in _NUMBERS:
            return found
        return {"major": self._capability[0], "minor": self._capability[1]}.get(name, 0)

    def __repr__(self) -> str:
        return repr(self._known)


def _chosen() -> tuple[int, int]:
    major, _, minor = os.environ.get("TORCH_NPU_DEVICE_CAPABILITY", "").partition(".")
    return (int(major), int(minor or 0)) if major.isdigit() and (minor or "0").isdigit() else (0, 0)


def apply() -> None:
    """Change the two functions' answers."""
    cuda: Any = torch.cuda
    capability, properties = cuda.get_device_capability, cuda.get_device_properties

    @functools.wraps(capability)
    def get_device_capability(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            # It says how to set the variable, each time.
            warnings.simplefilter("ignore", UserWarning)
            found = capability(*args, **kwargs)
        return _chosen() if found is None else found

    @functools.wraps(properties)
    def get_device_properties(*args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            args = (cuda.current_device(),)
        found = properties(*args, **kwargs)
        return found if is_inside(asking(sys._getframe(1))) else Properties(found, _chosen())

    cuda.get_device_capability, cuda.get_device_properties = get_device_capability, get_device_properties
