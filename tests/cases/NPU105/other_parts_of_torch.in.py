import torch

if hasattr(torch, "compile") and hasattr(torch.backends, "mps"):
    device = torch.device("mps")
step = getattr(torch.optim, "AdamW")
