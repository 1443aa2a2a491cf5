import torch
import torch_npu  # noqa: F401

graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    pass
torch.npu.mstx.range_push("step")
torch.npu.mstx.range_pop()
