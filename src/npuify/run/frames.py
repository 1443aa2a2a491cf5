"""Whose code is running: the program's (and its libraries'), or torch's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

INSIDE = frozenset(("torch", "torch_npu", "npuify", "functorch", "torchgen", "importlib"))
"""Packages that must see what torch really says: they choose code by it."""

AWARE = frozenset(("accelerate", "transformers", "trl", "peft", "diffusers", "deepspeed"))
"""Libraries with an NPU path of their own. The first four are those that torch_npu's contrib/apis_config.json names;
diffusers and deepspeed ask for ``npu`` in their own sources."""


def package(frame: FrameType) -> str:
    """The top package that a frame's code belongs to; ``__main__`` for the program itself."""
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""


def asking(frame: FrameType) -> FrameType:
    """``frame``, or the one that called npuify's own wrappers around it."""
    while str(frame.f_globals.get("__name__")).startswith("npuify.run.") and frame.f_back is not None:
        frame = frame.f_back
    return frame


def is_inside(frame: FrameType) -> bool:
    """Whether a frame runs torch's code, or npuify's own."""
    return package(frame) in INSIDE


def wants_cuda(frame: FrameType) -> bool:
    """Whether a frame runs code that knows CUDA only: the program's, or a library's without a path for NPUs."""
    name = package(frame)
    return name not in INSIDE and name not in AWARE
