import torch
import torch_npu  # noqa: F401

if torch.npu.is_autocast_enabled():
    print(torch.is_autocast_enabled("npu"))
