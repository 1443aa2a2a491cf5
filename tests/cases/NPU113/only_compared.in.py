import torch


def half(z):
    return z.type() == "torch.cuda.HalfTensor" or z.type() == "torch.HalfTensor"
