import torch
from torch.amp import GradScaler, autocast

first = GradScaler()
second = GradScaler(enabled=True)
third = torch.amp.GradScaler(init_scale=2.0**16)
