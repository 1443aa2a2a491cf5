import torch

backend = getattr(torch, 'cuda', None)
if backend is not None:
    backend.empty_cache()
