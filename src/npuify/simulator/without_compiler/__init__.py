"""The simulated device in Python alone, for machines without a C++ compiler and PyTorch 2.10 or newer.

It has the face of the compiled one (:class:`npuify.simulator.engine.Native`) and the same kind of tensors: PrivateUse1
tensors on host memory, whose operators the CPU runs on that same memory. What it lacks is in :mod:`.gaps`; each gap is
raised, or said on stderr, by its name.
"""

from npuify.simulator.without_compiler.device import FIRST_TORCH, PythonDevice, possible

__all__ = ["FIRST_TORCH", "PythonDevice", "possible"]
