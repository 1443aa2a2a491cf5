import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

backend = getattr(torch, 'cuda', None)
if backend is not None:
    backend.empty_cache()
