import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch import cuda

print(cuda.get_device_name(device_name=0), cuda.get_device_name(0))
