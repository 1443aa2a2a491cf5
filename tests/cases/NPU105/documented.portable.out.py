import torch

import compute_device

if hasattr(compute_device.api, "CUDAGraph"):
    module = getattr(torch, compute_device.type)
