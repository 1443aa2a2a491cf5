import torch
import torch.distributed as dist

import compute_device


def start(cuda):
    dist.init_process_group(compute_device.dist_backend, init_method="env://")
    group = dist.new_group([0, 1], backend=compute_device.dist_backend)
    backend = compute_device.dist_backend if cuda else "gloo"
    assert backend in ("nccl", "hccl", "gloo")
    return group, torch.distributed.get_backend() == compute_device.dist_backend
