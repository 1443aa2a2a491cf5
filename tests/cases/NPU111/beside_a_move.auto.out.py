import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def follow(window, magnitude):
    return window.cuda() if magnitude.is_cuda else window
