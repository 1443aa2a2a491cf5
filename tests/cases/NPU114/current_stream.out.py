import torch
import torch_npu  # noqa: F401


def launch(kernel, x):
    kernel(x, stream=torch.npu.current_stream().npu_stream)
