import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

arch = ".".join(map(str, (torch.cuda.get_device_capability() or (0, 0))))
newest = max([(torch.cuda.get_device_capability(i) or (0, 0)) for i in range(torch.cuda.device_count())])
print("capability", torch.cuda.get_device_capability(0))
