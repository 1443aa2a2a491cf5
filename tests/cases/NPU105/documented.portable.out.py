import torch

import compute_device

if hasattr(compute_device.api, "NPUGraph" if compute_device.type == "npu" else "CUDAGraph"):
    module = getattr(torch, compute_device.type)
