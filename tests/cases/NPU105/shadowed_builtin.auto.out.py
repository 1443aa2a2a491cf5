import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def hasattr(thing, name):
    return name in dir(thing)


print(hasattr(torch, "cuda"))
