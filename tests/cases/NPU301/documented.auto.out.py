import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist
dist.init_process_group(backend="nccl")
if dist.get_backend() in ("nccl", "hccl"):
    dist.new_group(backend="cpu:gloo,cuda:nccl")
