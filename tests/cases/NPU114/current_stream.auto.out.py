import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def launch(kernel, x):
    kernel(x, stream=torch.cuda.current_stream().npu_stream)
