"""``x.device.type == "cuda"`` and ``str(x.device).startswith("cuda")`` hold of the NPU, outside of torch.

The answer still is the NPU's word: see :class:`npuify.run.device_text.DeviceText`.
"""

from __future__ import annotations

import sys
from typing import Any

from npuify.run.device_text import DeviceText
from npuify.run.frames import wants_cuda
from npuify.run.patches.devices import REAL
from npuify.run.slots import set_attribute


def apply() -> None:
    """Change the two answers of torch's class.

    Raises:
        RuntimeError: they cannot be changed in this Python.
    """
    kind_of: Any = REAL.type.__get__
    text_of: Any = REAL.__str__

    def kind(self: Any) -> str:
        text: str = kind_of(self)
        return DeviceText(text) if text == "npu" and wants_cuda(sys._getframe(1)) else text

    def text(self: Any) -> str:
        found: str = text_of(self)
        return DeviceText(found) if found.startswith("npu") and wants_cuda(sys._getframe(1)) else found

    if not set_attribute(REAL, "type", property(kind)) or not set_attribute(REAL, "__str__", text):
        raise RuntimeError("torch.device cannot be changed in this Python")
