import torch
from torch.distributed import Backend

import compute_device

backend = compute_device.dist_backend
other = compute_device.dist_backend
