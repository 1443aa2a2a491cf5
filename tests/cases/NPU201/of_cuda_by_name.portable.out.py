import torch

import compute_device

if torch.is_autocast_enabled():
    print(torch.is_autocast_enabled(compute_device.type))
