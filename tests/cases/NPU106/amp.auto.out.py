import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.cuda.amp import GradScaler, autocast

scaler = GradScaler()
with autocast():
    pass
