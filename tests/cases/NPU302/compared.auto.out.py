import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist


def on_cards():
    return dist.get_backend() == dist.Backend.HCCL
