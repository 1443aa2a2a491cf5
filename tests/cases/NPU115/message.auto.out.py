import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
print("torch.cuda.is_available")
raise RuntimeError("torch.cuda.device_count")
