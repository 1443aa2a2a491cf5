import torch.distributed as dist

import compute_device

dist.init_process_group(backend=compute_device.dist_backend)
if dist.get_backend() == compute_device.dist_backend:
    dist.new_group(backend=f"cpu:gloo,{compute_device.type}:{compute_device.dist_backend}")
