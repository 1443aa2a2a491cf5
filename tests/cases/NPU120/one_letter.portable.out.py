import torch

import compute_device


def load(path):
    d = compute_device.type
    return torch.zeros(1).to(d)


def read(d="cuda"):
    return open(d)


def table(rows):
    d = "cuda"
    return rows[d]
