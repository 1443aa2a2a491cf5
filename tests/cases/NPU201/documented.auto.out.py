import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
if torch.is_autocast_enabled():
    dtype = torch.get_autocast_gpu_dtype()
