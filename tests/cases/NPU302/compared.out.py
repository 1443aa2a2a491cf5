import torch.distributed as dist
import torch_npu  # noqa: F401


def on_cards():
    return dist.get_backend() == dist.Backend.HCCL
