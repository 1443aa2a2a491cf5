import torch.distributed as dist

import compute_device


def on_cards():
    return dist.get_backend() == compute_device.dist_backend
