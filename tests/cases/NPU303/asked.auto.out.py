import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist

if dist.is_available() and dist.is_nccl_available():
    dist.init_process_group("nccl")
