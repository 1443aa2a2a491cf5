import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import dgl
import torch

graph = dgl.graph(([0, 1], [1, 2])).to("cuda:0")
graph = dgl.add_self_loop(graph).to("cuda")
features = torch.zeros(3)
