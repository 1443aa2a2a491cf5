import torch

import compute_device

arch = ".".join(map(str, (compute_device.api.get_device_capability() or (0, 0))))
newest = max([(compute_device.api.get_device_capability(i) or (0, 0)) for i in range(compute_device.api.device_count())])
print("capability", compute_device.api.get_device_capability(0))
