import torch


def half(z):
    return z.type() == "torch.npu.HalfTensor" or z.type() == "torch.HalfTensor"
