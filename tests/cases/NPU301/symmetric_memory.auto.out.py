import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed._symmetric_memory as symm_mem

symm_mem.set_backend("NCCL")
