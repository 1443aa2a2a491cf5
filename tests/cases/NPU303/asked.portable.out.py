import torch.distributed as dist

import compute_device

if dist.is_available() and dist.is_backend_available(compute_device.dist_backend):
    dist.init_process_group(compute_device.dist_backend)
