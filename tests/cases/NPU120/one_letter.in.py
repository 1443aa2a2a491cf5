import torch


def load(path):
    d = "cuda"
    return torch.zeros(1).to(d)


def read(d="cuda"):
    return open(d)


def table(rows):
    d = "cuda"
    return rows[d]
