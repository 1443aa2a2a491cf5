import torch

import compute_device

scaler = torch.amp.GradScaler(compute_device.type, enabled=True)
