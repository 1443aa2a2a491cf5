import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.cuda import amp
import torch.distributed as dist

ready = dist.is_nccl_available()
scaler = amp.GradScaler()
