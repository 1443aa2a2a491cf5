import torch

import compute_device

with torch.random.fork_rng(device_type=compute_device.type):
    torch.manual_seed(1)
with torch.random.fork_rng(devices=[], enabled=True, device_type=compute_device.type):
    torch.manual_seed(2)
