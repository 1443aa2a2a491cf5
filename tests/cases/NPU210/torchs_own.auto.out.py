import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch import amp

scaler = amp.GradScaler("npu")
amp.initialize(scaler)
