import torch


def capability(device):
    print(f"{torch.cuda.get_device_capability(device)}")
    return torch.cuda.get_device_capability(device)
