import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

blocks = (getattr(torch.cuda.get_device_properties(0), "multi_processor_count", None) or 1) * 4
