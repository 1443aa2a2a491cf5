import torch

import compute_device

device = torch.device(f"{compute_device.type}:0" if compute_device.api.is_available() else "cpu")
print("running on cuda")
x = torch.zeros(2, device=compute_device.type)
