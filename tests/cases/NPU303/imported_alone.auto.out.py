import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.distributed import is_nccl_available

print(is_nccl_available())
