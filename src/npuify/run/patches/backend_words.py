"""``torch.distributed.get_backend() == "nccl"`` holds of hccl, outside of torch."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from npuify.run.device_text import DeviceText
from npuify.run.frames import asking, wants_cuda


def apply() -> None:
    """Change what the function answers, under both of its names."""
    if not torch.distributed.is_available():
        return
    c10d: Any = torch.distributed.distributed_c10d
    asked = c10d.get_backend

    @functools.wraps(asked)
    def get_backend(group: Any = None) -> str:
        found: str = asked(group)
        return DeviceText(found) if "hccl" in found and wants_cuda(asking(sys._getframe(1))) else found

    torch.distributed.get_backend = c10d.get_backend = get_backend
    # transfer_to_npu changes only one of the names of each.
    for name in ("init_process_group", "is_nccl_available"):
        if hasattr(torch.distributed, name):
            setattr(c10d, name, getattr(torch.distributed, name))
