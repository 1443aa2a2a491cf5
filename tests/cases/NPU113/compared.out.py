import torch
import torch_npu  # noqa: F401


def is_half(param):
    return param.type() in ["torch.npu.HalfTensor", "torch.npu.BFloat16Tensor"]


torch.set_default_dtype(torch.float32)
torch.set_default_device("npu")
