import torch


def pick(device_type):
    return torch.float16 if device_type == "cuda" else torch.float32
