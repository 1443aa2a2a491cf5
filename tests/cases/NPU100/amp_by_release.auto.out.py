import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
    from torch.amp import GradScaler, autocast

    scaler = GradScaler("cuda")
else:
    from torch.cuda.amp import GradScaler, autocast

    scaler = GradScaler()


def step(model, batch):
    with autocast("cuda"):
        loss = model(batch.to("cuda")).sum()
    scaler.scale(loss).backward()
