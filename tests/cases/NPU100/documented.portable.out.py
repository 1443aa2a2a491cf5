import torch

import compute_device

model = torch.nn.Linear(2, 2).to(compute_device.type)
