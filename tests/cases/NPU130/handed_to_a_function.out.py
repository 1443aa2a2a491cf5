import torch
import torch_npu  # noqa: F401

arch = ".".join(map(str, (torch.npu.get_device_capability() or (0, 0))))
newest = max([(torch.npu.get_device_capability(i) or (0, 0)) for i in range(torch.npu.device_count())])
print("capability", torch.npu.get_device_capability(0))
