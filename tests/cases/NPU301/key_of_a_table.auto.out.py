import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
PORTS = {"nccl": 29500, "gloo": 29501}
print(PORTS)
