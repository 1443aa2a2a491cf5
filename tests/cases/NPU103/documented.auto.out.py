import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
print(torch.cuda.get_device_name(device_name=0))
