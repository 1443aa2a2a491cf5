import torch


def describe(module, index):
    return module.get_device_name(device=index)


x = torch.zeros(2, device="cpu")
