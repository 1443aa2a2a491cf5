import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
class Backend:
    NCCL = "nccl-like"
    GLOO = "gloo"


print(Backend.NCCL)
