import torch

import compute_device

try:
    torch.zeros(2).to(compute_device.type)
except RuntimeError as error:
    if f"{compute_device.type.upper()} out of memory" not in str(error):
        raise
