import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def forked(device):
    return [device] if getattr(device, "type", None) in ("cuda", "npu") else []
