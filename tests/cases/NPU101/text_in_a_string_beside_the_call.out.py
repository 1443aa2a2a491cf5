import torch
import torch_npu  # noqa: F401

print(f"torch.cuda.device_count() says {torch.npu.device_count()}")
print("torch.cuda.is_available() =", torch.npu.is_available())
