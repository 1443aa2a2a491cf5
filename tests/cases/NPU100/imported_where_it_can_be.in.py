import torch

try:
    import torch_npu
except ImportError:
    torch_npu = None

if torch_npu is not None and torch.npu.is_available():
    torch.npu.synchronize()
