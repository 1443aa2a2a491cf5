import torch

import compute_device

print(compute_device.api.get_device_name(0))
