import torch
import torch_npu

properties = torch.npu.get_device_properties(0)
print(properties.name, properties.total_memory, torch_npu.__version__)
