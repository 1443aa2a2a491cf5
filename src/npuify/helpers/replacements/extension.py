# mypy: ignore-errors
"""In the place of the CUDA extension EXTENSION: its functions, with the same arguments, in PyTorch.

``npuify migrate --replace-kernels`` read the extension's code, and found that of a copy for which these functions are
proven to compute the same. The modules that they come from say what they were compared with, and their limits.
"""

import torch

# IMPORTS

TAKES_ITS_PLACE = not torch.cuda.is_available()
"""Whether the extension itself cannot run here."""

MISSING = ()
"""Functions of the extension that nothing replaces."""


def __getattr__(name):
    if name in MISSING:

        def fail(*args, **kwargs):
            raise NotImplementedError(f"nothing replaces {name} of the CUDA extension EXTENSION")

        return fail
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
