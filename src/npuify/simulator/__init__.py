"""A simulated NPU for any machine with CPU PyTorch, on which a migrated program runs from start to end.

What runs inside the user's program (everything here but :mod:`launch`) imports nothing except the standard library and
torch: the Python that runs the program need not have npuify's own dependencies.
"""

from __future__ import annotations

__all__ = ["NotSimulated"]


class NotSimulated(NotImplementedError):
    """The real torch_npu has this, the simulated one does not."""
