import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist


def launch(rank, world_size, backend="nccl", port=29500):
    dist.init_process_group(rank=rank, world_size=world_size, backend=backend)


def connect(how):
    dist.init_process_group(how)


def main(rank):
    launch(rank, 2, backend="nccl")
    connect("nccl")
    print("nccl")
