"""``torch.cuda.nvtx`` marks ranges for the NPU's profiler, by torch.npu.mstx; where that is lacking it does nothing.

Ranges of NVTX are pushed and popped for each thread; those of mstx have numbers, which are kept here.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch

from npuify.run import record
from npuify.run.frames import asking

_thread = threading.local()


class _Nothing:
    """Where the release has no mstx, or only the module of it."""

    @staticmethod
    def mark(message: str) -> None:
        """Nothing."""

    @staticmethod
    def range_start(message: str) -> int:
        """Nothing."""
        return 0

    @staticmethod
    def range_end(number: int) -> None:
        """Nothing."""


def apply() -> None:
    """Put the functions in torch.cuda.nvtx's place, under their own names."""
    import torch.cuda.nvtx as nvtx

    module: Any = nvtx
    found: Any = getattr(sys.modules["torch_npu"].npu, "mstx", None)
    found = getattr(found, "mstx", found)  # the class stands in a module of the same name
    mstx: Any = found if hasattr(found, "range_start") else _Nothing
    status = record.EXACT if mstx is not _Nothing else record.NONE

    def ranges() -> list[int]:
        if not hasattr(_thread, "ranges"):
            _thread.ranges = []
        return _thread.ranges  # type: ignore[no-any-return]

    def told(name: str, argument: Any, became: str) -> None:
        place = record.caller(asking(sys._getframe(2)))
        record.call(place, f"torch.cuda.nvtx.{name}", f"({argument!r})", became, status, "nvtx")

    def range_push(msg: str) -> int:
        told("range_push", msg, "torch.npu.mstx.range_start")
        ranges().append(mstx.range_start(str(msg)))
        return len(ranges()) - 1

    def range_pop() -> int:
        told("range_pop", "", "torch.npu.mstx.range_end")
        if not ranges():
            return -1
        mstx.range_end(ranges().pop())
        return len(ranges())

    def range_start(msg: str) -> int:
        told("range_start", msg, "torch.npu.mstx.range_start")
        return int(mstx.range_start(str(msg)))

    def range_end(range_id: int) -> None:
        told("range_end", range_id, "torch.npu.mstx.range_end")
        mstx.range_end(range_id)

    def mark(msg: str) -> None:
        told("mark", msg, "torch.npu.mstx.mark")
        mstx.mark(str(msg))

    for function in (range_push, range_pop, range_start, range_end, mark):
        setattr(module, function.__name__, function)
    torch.cuda.nvtx = module
