import torch.distributed as dist

import compute_device

backend = compute_device.dist_backend
