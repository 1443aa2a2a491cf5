import compute_device
try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    compute_device.api.empty_cache()
