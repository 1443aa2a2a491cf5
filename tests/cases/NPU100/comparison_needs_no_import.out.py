import torch


def pick(device_type):
    return torch.float16 if device_type == "npu" else torch.float32
