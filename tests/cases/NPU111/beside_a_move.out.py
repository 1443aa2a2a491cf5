import torch
import torch_npu  # noqa: F401


def follow(window, magnitude):
    return window.npu() if magnitude.is_npu else window
