import torch

import compute_device

torch.set_default_dtype(torch.float32)
torch.set_default_device(compute_device.type)
noise = torch.empty(4, 8).normal_()
scale = torch.tensor([1.0, 0.5], dtype=torch.get_default_dtype())
