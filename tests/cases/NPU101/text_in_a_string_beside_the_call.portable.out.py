import torch

import compute_device

print(f"torch.cuda.device_count() says {compute_device.api.device_count()}")
print("torch.cuda.is_available() =", compute_device.api.is_available())
