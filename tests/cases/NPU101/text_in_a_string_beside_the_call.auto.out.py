import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

print(f"torch.cuda.device_count() says {torch.cuda.device_count()}")
print("torch.cuda.is_available() =", torch.cuda.is_available())
