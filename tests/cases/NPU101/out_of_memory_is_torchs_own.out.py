import torch
import torch_npu  # noqa: F401


def run(step):
    try:
        step()
    except torch.OutOfMemoryError:
        torch.npu.empty_cache()
