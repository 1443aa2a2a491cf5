import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
try:
    torch.zeros(2).cuda()
except RuntimeError as error:
    if "NPU out of memory" not in str(error):
        raise
