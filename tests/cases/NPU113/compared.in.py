import torch


def is_half(param):
    return param.type() in ["torch.cuda.HalfTensor", "torch.cuda.BFloat16Tensor"]


torch.set_default_tensor_type("torch.cuda.FloatTensor")
