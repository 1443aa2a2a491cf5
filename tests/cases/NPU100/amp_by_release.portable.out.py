import torch

import compute_device

if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
    from torch.amp import GradScaler, autocast

    scaler = GradScaler(compute_device.type)
else:
    from compute_device import GradScaler, autocast

    scaler = GradScaler()


def step(model, batch):
    with autocast(compute_device.type):
        loss = model(batch.to(compute_device.type)).sum()
    scaler.scale(loss).backward()
