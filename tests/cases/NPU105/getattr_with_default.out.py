import torch
import torch_npu  # noqa: F401

backend = getattr(torch, 'npu', None)
if backend is not None:
    backend.empty_cache()
