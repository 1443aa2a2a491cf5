from compute_device import amp
import torch.distributed as dist

import compute_device

ready = dist.is_backend_available(compute_device.dist_backend)
scaler = amp.GradScaler()
