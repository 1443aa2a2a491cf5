import torch
import torch_npu  # noqa: F401

device, dtype = "npu", torch.bfloat16
kind, place = torch.float16, torch.device("npu")
