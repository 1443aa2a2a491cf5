import torch


def new_card(device):
    properties = torch.cuda.get_device_properties(device)
    return properties.major >= 9
