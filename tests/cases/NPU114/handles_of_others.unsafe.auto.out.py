import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import cupy
import torch

stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
