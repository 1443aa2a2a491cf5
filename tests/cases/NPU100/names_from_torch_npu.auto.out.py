import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch_npu.npu.amp import GradScaler, autocast

x = torch.ones(2, device="npu")
scaler = GradScaler()
with autocast():
    y = x * 2
