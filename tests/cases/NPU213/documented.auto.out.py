import torch
norm = torch.nn.LayerNorm(64, eps=1e-6)
