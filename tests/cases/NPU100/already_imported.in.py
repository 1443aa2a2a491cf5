import torch
import torch_npu

device = torch.device("npu:0")
torch.npu.set_device(device)
print(torch_npu.__version__)
