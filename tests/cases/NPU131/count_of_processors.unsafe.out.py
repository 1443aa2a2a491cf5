import torch
import torch_npu  # noqa: F401

blocks = torch.npu.get_device_properties(0).multi_processor_count * 4
