import torch

import compute_device

device = torch.device(type=compute_device.type, index=1)
