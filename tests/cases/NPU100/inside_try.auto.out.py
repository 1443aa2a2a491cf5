import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    torch.cuda.empty_cache()
