import torch

import compute_device

for index in range(compute_device.api.device_count()):
    print(compute_device.api.get_device_name(index))
