import torch
import torch_npu  # noqa: F401

blocks = (getattr(torch.npu.get_device_properties(0), "multi_processor_count", None) or 1) * 4
