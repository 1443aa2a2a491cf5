import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def load(path):
    d = "cuda"
    return torch.zeros(1).to(d)


def read(d="cuda"):
    return open(d)


def table(rows):
    d = "cuda"
    return rows[d]
