import torch

import compute_device

torch.set_default_dtype(torch.float32)
torch.set_default_device(compute_device.type)
x = torch.zeros(2)
