import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.cuda import CUDAGraph, Stream, current_stream as now

graph = CUDAGraph()
stream = Stream()
now().wait_stream(stream)
