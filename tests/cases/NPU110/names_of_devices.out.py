import torch
import torch_npu  # noqa: F401

number = 1
a = torch.ones(1).npu("npu")
b = torch.ones(1).npu(device="npu:1")
c = torch.ones(1).npu(f"npu:{number}")
d = torch.ones(1).npu(None)
