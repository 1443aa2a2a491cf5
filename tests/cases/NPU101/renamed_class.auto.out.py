import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    pass
torch.npu.mstx.range_push("step")
torch.npu.mstx.range_pop()
