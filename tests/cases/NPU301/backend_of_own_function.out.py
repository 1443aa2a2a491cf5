import torch.distributed as dist
import torch_npu  # noqa: F401


def launch(rank, world_size, backend="hccl", port=29500):
    dist.init_process_group(rank=rank, world_size=world_size, backend=backend)


def connect(how):
    dist.init_process_group(how)


def main(rank):
    launch(rank, 2, backend="hccl")
    connect("nccl")
    print("nccl")
