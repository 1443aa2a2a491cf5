import torch
import torch_npu

name = torch.npu.get_device_name(0)
other = torch.npu.get_device_name(torch.device("npu", 1))
print(name, other, torch_npu.__version__)
