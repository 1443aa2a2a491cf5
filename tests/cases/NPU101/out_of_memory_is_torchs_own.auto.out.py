import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def run(step):
    try:
        step()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
