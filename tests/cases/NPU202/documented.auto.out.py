import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
scaler = torch.amp.GradScaler("npu", enabled=True)
