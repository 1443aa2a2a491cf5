import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
old = (getattr(torch.cuda.get_device_properties(0), "major", None) or 0) < 7
