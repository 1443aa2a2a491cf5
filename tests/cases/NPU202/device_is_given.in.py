import torch

scaler = torch.amp.GradScaler("cpu", enabled=False)
other = torch.amp.GradScaler(device="cpu")
with torch.random.fork_rng(device_type="cpu"):
    pass
