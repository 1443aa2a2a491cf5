import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
half = torch.zeros(2).type("torch.npu.HalfTensor")
