import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def new_card(device):
    properties = torch.cuda.get_device_properties(device)
    return (getattr(properties, "major", None) or 0) >= 9
