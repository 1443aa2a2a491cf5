import torch

import compute_device

half = torch.zeros(2).type(f"torch.{compute_device.type}.HalfTensor")
