import torch
import torch.distributed as dist
from functools import reduce

device = torch.device("cpu")
handed = torch.zeros(4, dtype=torch.float64, device=device)
dist.broadcast(handed, 0)
dist.all_gather([torch.zeros_like(handed)], handed)
dist.all_reduce(handed)
on_the_cpu = torch.ones(3, dtype=torch.float64)
dist.all_reduce(on_the_cpu)
narrow = torch.ones(3, dtype=torch.float64, device="cpu").float()
dist.all_reduce(narrow)
total = reduce(lambda a, b: a + b, [handed])


def mean(t):
    t = t.clone().double()
    dist.all_reduce(t)
    return t
