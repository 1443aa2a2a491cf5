import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
print("CUDA")
VENDORS = {"CUDA": "NVIDIA", "ROCm": "AMD"}
message = "uses {}".format("CUDA")
