"""The simulated device in Python alone, for machines without a C++ compiler and PyTorch 2.10 or newer.

It has the face of the compiled one (:class:`npuify.simulator.device.engine.Native`) and the same kind of tensors:
PrivateUse1 tensors on host memory, whose operators the CPU runs on that same memory. What it lacks is in :mod:`.gaps`;
each gap is raised, or said on stderr, by its name.
"""

import torch

FIRST_TORCH = (2, 10)
"""The first PyTorch that lets Python be a device's guard and hooks."""


def possible(version: str) -> bool:
    """Whether a version of PyTorch can have the device; :mod:`.device` is for those alone."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return (major, minor) >= FIRST_TORCH and hasattr(torch._C, "_acc")
