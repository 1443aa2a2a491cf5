import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

for index in range(torch.cuda.device_count()):
    print(torch.cuda.get_device_name(device_name=index))
