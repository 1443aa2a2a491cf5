import torch

import compute_device

model = torch.nn.Linear(2, 2).to(compute_device.type)
data = torch.zeros(2).to(compute_device.get(0), non_blocking=True)
