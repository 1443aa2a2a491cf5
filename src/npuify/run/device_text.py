"""Words that torch says of an NPU, and that a CUDA program compares with CUDA's."""

from __future__ import annotations

import sys
from typing import Any

from npuify.run import record
from npuify.run.frames import wants_cuda


def npu_text(text: str) -> str:
    """``text`` with the NPU's word for CUDA's: devices, backends, names of tensor types."""
    return text.replace("cuda", "npu").replace("nccl", "hccl").replace("NCCL", "HCCL")


def cuda_text(text: str) -> str:
    """The other way."""
    return text.replace("npu", "cuda").replace("hccl", "nccl").replace("HCCL", "NCCL")


class DeviceText(str):
    """What torch says, such as ``npu:0``, that is equal to ``cuda:0`` as well, for code that knows CUDA only.

    For torch itself and for libraries with a path for NPUs it is an ordinary string. It is stored, sent and printed as
    the plain text.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if str.__eq__(self, other) is True:
            return True
        if not isinstance(other, str) or str.__eq__(self, npu_text(other)) is not True:
            return False
        frame = sys._getframe(1)
        if not wants_cuda(frame):
            return False
        record.compared(frame, self, other)
        return True

    def __ne__(self, other: object) -> bool:
        if str.__eq__(self, other) is True:
            return False
        if not isinstance(other, str) or str.__eq__(self, npu_text(other)) is not True:
            return True
        frame = sys._getframe(1)
        if not wants_cuda(frame):
            return True
        record.compared(frame, self, other)
        return False

    def __hash__(self) -> int:
        # A program's tables are keyed with CUDA's words, torch's own with the NPU's.
        return hash(cuda_text(str.__str__(self)) if wants_cuda(sys._getframe(1)) else str.__str__(self))

    def __contains__(self, part: object) -> bool:
        if not isinstance(part, str):
            raise TypeError(f"'in <string>' requires string as left operand, not {type(part).__name__}")
        if str.__contains__(self, part):
            return True
        frame = sys._getframe(1)
        if not str.__contains__(self, npu_text(part)) or not wants_cuda(frame):
            return False
        record.compared(frame, self, part)
        return True

    def startswith(self, prefix: Any, *place: Any) -> bool:
        """As of any string; of the NPU's word where CUDA's is asked for."""
        if str.startswith(self, prefix, *place):
            return True
        wanted = tuple(map(npu_text, prefix)) if isinstance(prefix, tuple) else npu_text(prefix)
        frame = sys._getframe(1)
        if not str.startswith(self, wanted, *place) or not wants_cuda(frame):
            return False
        record.compared(frame, self, prefix if isinstance(prefix, str) else prefix[0])
        return True

    def split(self, *args: Any, **kwargs: Any) -> list[str]:
        """The pieces, each of them such a word."""
        return [DeviceText(piece) for piece in str.split(self, *args, **kwargs)]

    def partition(self, separator: str) -> tuple[str, str, str]:
        """The three pieces, each of them such a word."""
        first, middle, last = str.partition(self, separator)
        return DeviceText(first), middle, DeviceText(last)

    def lower(self) -> str:
        """In small letters."""
        return DeviceText(str.lower(self))

    def upper(self) -> str:
        """In capitals."""
        return DeviceText(str.upper(self))

    def strip(self, *args: Any) -> str:
        """Without blanks around it."""
        return DeviceText(str.strip(self, *args))

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str.__str__(self),)
