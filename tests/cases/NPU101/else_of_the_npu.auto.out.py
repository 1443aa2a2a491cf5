import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def free(is_npu):
    if is_npu:
        torch.npu.empty_cache()
    else:
        torch.cuda.empty_cache()


def wait(is_npu):
    if not is_npu:
        torch.cuda.synchronize()
