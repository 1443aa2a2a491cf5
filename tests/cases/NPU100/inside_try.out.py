try:
    import torch
    import torch_npu  # noqa: F401
except ImportError:
    torch = None

if torch is not None:
    torch.npu.empty_cache()
