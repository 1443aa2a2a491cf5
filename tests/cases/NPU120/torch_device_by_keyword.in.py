import torch

device = torch.device(type="cuda", index=1)
