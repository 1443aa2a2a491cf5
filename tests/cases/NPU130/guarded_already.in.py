import torch
import torch_npu

capability = torch.npu.get_device_capability() or (0, 0)
print(capability >= (8, 0), torch_npu.__version__)
