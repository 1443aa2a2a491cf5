import torch
from ffcv.transforms import ToDevice

import compute_device

move = ToDevice(torch.device(f"{compute_device.type}:0"), non_blocking=False)
