import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist


def start(device):
    dist.init_process_group({"cuda": "nccl", "npu": "hccl", "cpu": "gloo"}[device.type])
