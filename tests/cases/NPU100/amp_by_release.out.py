import torch
import torch_npu  # noqa: F401

if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
    from torch.amp import GradScaler, autocast

    scaler = GradScaler("npu")
else:
    from torch_npu.npu.amp import GradScaler, autocast

    scaler = GradScaler()


def step(model, batch):
    with autocast("npu"):
        loss = model(batch.to("npu")).sum()
    scaler.scale(loss).backward()
