import dgl
import torch

graph = dgl.graph(([0, 1], [1, 2])).to("cuda:0")
graph = dgl.add_self_loop(graph).to("cuda")
features = torch.zeros(3)
