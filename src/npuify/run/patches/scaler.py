"""``torch.amp.GradScaler("cuda")`` scales for the NPU: ``transfer_to_npu`` reaches only the one of torch.cuda.amp."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch

from npuify.run.device_text import npu_text


def apply() -> None:
    """Wrap its constructor. Those of torch.cuda.amp and torch_npu derive from it, and name their device."""
    kind: Any = getattr(torch.amp, "GradScaler", None)
    if kind is None or "device" not in inspect.signature(kind.__init__).parameters:
        return
    plain = kind.__init__

    @functools.wraps(plain)
    def init(self: Any, device: Any = "cuda", *args: Any, **kwargs: Any) -> None:
        plain(self, npu_text(device) if isinstance(device, str) else device, *args, **kwargs)

    kind.__init__ = init
