import torch

import compute_device


def new_card(device):
    properties = compute_device.api.get_device_properties(device)
    return (getattr(properties, "major", None) or 0) >= 9
