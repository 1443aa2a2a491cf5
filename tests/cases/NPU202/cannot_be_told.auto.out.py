import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

options = {"device": "cpu"}
scaler = torch.amp.GradScaler(**options)
other = torch.amp.GradScaler(*["cpu"])
