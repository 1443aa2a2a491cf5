import torch

import compute_device

device, dtype = compute_device.type, torch.bfloat16
kind, place = torch.float16, torch.device(compute_device.type)
