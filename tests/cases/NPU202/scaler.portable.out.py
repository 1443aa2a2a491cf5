import torch
from torch.amp import GradScaler, autocast

import compute_device

first = GradScaler(compute_device.type)
second = GradScaler(compute_device.type, enabled=True)
third = torch.amp.GradScaler(compute_device.type, init_scale=2.0**16)
