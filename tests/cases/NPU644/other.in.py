import torch
import triton


def dot(a, b, allow_tf32=True):
    return torch.dot(a, b)


print(dot(torch.ones(2), torch.ones(2), allow_tf32=True), triton.__version__)
