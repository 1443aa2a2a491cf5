import torch

import compute_device

def place(x: torch.Tensor) -> str:
    return "card" if x.device.type == compute_device.type else "host"
