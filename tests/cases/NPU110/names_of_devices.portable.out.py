import torch

import compute_device

number = 1
a = torch.ones(1).to(compute_device.type)
b = torch.ones(1).to(f"{compute_device.type}:1")
c = torch.ones(1).to(f"{compute_device.type}:{number}")
d = torch.ones(1).to(compute_device.type)
