import torch
from torch_scatter import scatter_logsumexp
from npuify_on_cpu import on_cpu

try:
    from torch_scatter import scatter_add
except ImportError:
    scatter_add = None

try:
    import torch_scatter
except ImportError:
    torch_scatter = None


def total(x, index, out):
    return on_cpu(scatter_logsumexp)(x, index, 0, out)


def pool(x, index):
    return torch.zeros(2) if torch_scatter is None or scatter_add is None else x
