import torch
import torch_npu  # noqa: F401
import torch.distributed as dist


def start(cuda):
    dist.init_process_group("hccl", init_method="env://")
    group = dist.new_group([0, 1], backend="hccl")
    backend = "hccl" if cuda else "gloo"
    assert backend in ("hccl", "gloo")
    return group, torch.distributed.get_backend() == "hccl"
