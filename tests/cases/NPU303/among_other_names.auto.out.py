import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.distributed import init_process_group, is_nccl_available

if is_nccl_available():
    init_process_group("gloo")
