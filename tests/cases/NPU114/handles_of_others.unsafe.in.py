import cupy
import torch

stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
