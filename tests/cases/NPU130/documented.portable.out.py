import torch

import compute_device

major, minor = compute_device.api.get_device_capability() or (0, 0)
fast = (compute_device.api.get_device_capability() or (0, 0))[0] >= 8
