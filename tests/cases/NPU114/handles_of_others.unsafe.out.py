import cupy
import torch
import torch_npu  # noqa: F401

stream = cupy.cuda.ExternalStream(torch.npu.current_stream().cuda_stream)
