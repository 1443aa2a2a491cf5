import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

device, dtype = "cuda", torch.bfloat16
kind, place = torch.float16, torch.device("cuda")
