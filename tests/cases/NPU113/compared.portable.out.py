import torch

import compute_device


def is_half(param):
    return param.type() in [f"torch.{compute_device.type}.HalfTensor", f"torch.{compute_device.type}.BFloat16Tensor"]


torch.set_default_dtype(torch.float32)
torch.set_default_device(compute_device.type)
