import torch
from torch_npu.npu.amp import GradScaler, autocast

x = torch.ones(2, device="npu")
scaler = GradScaler()
with autocast():
    y = x * 2
