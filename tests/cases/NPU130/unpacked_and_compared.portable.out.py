import torch

import compute_device

major, minor = compute_device.api.get_device_capability() or (0, 0)
capability = compute_device.api.get_device_capability(0) or (0, 0)
fast = (compute_device.api.get_device_capability() or (0, 0)) >= (8, 0)
dtype = torch.bfloat16 if (compute_device.api.get_device_capability() or (0, 0))[0] >= 8 else torch.float16
