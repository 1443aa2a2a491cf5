import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
