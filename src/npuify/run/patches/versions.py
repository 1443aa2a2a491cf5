"""Versions of CUDA's libraries, which programs split and compare: the lowest there can be, so that gates stay shut.

Torch's own code sees what is true, and builds nothing for CUDA.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from npuify.run import record
from npuify.run.frames import asking, wants_cuda

NO_CUDA = "0.0"


def apply() -> None:
    """Change the answers, for code outside of torch."""
    version: Any = torch.version
    plain: Any = type(version)
    if version.cuda is None:

        class Version(plain):  # type: ignore[misc]
            """torch.version, with a CUDA that can be compared."""

            def __getattribute__(self, name: str) -> Any:
                if name == "cuda":
                    frame = asking(sys._getframe(1))
                    if wants_cuda(frame):
                        record.call(
                            record.caller(frame), "torch.version.cuda", "", repr(NO_CUDA), record.CHANGED, "versions"
                        )
                        return NO_CUDA
                return plain.__getattribute__(self, name)

        version.__class__ = Version
    cudnn: Any = torch.backends.cudnn
    _answer(cudnn, "version", 0)
    nccl: Any = sys.modules.get("torch.cuda.nccl")
    if nccl is not None:
        _answer(nccl, "version", (0, 0, 0))


def _answer(module: Any, name: str, otherwise: Any) -> None:
    """A function that fails or knows nothing answers with ``otherwise``, outside of torch."""
    asked = getattr(module, name)

    @functools.wraps(asked)
    def answer(*args: Any, **kwargs: Any) -> Any:
        frame = asking(sys._getframe(1))
        try:
            found = asked(*args, **kwargs)
        except Exception:  # whatever a library that is half there fails with
            found = None
        if found is not None or not wants_cuda(frame):
            return found
        full = f"{module.__name__}.{name}"
        record.call(record.caller(frame), full, "()", repr(otherwise), record.CHANGED, "versions")
        return otherwise

    setattr(module, name, answer)
