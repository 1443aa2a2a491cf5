import torch
import torch_npu  # noqa: F401

for index in range(torch.npu.device_count()):
    print(torch.npu.get_device_name(device_name=index))
