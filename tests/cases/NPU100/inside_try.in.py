try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    torch.cuda.empty_cache()
