import torch

import compute_device

scaler = torch.amp.GradScaler(
    compute_device.type,
    init_scale=2.0**16,
)
