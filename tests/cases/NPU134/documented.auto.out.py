import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
print(".".join(map(str, tuple(torch_npu.npu.utils.get_cann_version("HCCL").split(".")))))
