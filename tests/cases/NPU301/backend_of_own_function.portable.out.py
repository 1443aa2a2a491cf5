import torch.distributed as dist

import compute_device


def launch(rank, world_size, backend=compute_device.dist_backend, port=29500):
    dist.init_process_group(rank=rank, world_size=world_size, backend=backend)


def connect(how):
    dist.init_process_group(how)


def main(rank):
    launch(rank, 2, backend=compute_device.dist_backend)
    connect("nccl")
    print("nccl")
