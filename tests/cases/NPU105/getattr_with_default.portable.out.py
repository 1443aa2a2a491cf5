import torch

import compute_device

backend = getattr(torch, compute_device.type, None)
if backend is not None:
    backend.empty_cache()
