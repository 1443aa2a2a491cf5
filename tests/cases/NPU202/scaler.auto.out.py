import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.amp import GradScaler, autocast

first = GradScaler("npu")
second = GradScaler("npu", enabled=True)
third = torch.amp.GradScaler("npu", init_scale=2.0**16)
