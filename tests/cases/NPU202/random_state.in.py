import torch

with torch.random.fork_rng():
    torch.manual_seed(1)
with torch.random.fork_rng(devices=[], enabled=True):
    torch.manual_seed(2)
