import torch

scaler = torch.amp.GradScaler(
    init_scale=2.0**16,
)
