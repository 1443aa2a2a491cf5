import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

new = torch.cuda.nccl.version() >= (2, 10)
major = torch.cuda.nccl.version()[0] > 1
