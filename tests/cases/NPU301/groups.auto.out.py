import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist


def start(cuda):
    dist.init_process_group("nccl", init_method="env://")
    group = dist.new_group([0, 1], backend="nccl")
    backend = "nccl" if cuda else "gloo"
    assert backend in ("nccl", "gloo")
    return group, torch.distributed.get_backend() in ("nccl", "hccl")
