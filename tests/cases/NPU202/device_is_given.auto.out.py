import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

scaler = torch.amp.GradScaler("cpu", enabled=False)
other = torch.amp.GradScaler(device="cpu")
with torch.random.fork_rng(device_type="cpu"):
    pass
