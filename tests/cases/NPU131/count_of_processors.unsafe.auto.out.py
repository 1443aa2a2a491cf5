import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

blocks = torch.cuda.get_device_properties(0).multi_processor_count * 4
