import torch

import compute_device

HAS_GRAPHS = hasattr(compute_device.api, "NPUGraph" if compute_device.type == "npu" else "CUDAGraph")
if hasattr(torch, compute_device.type) and compute_device.api.is_available():
    compute_device.api.synchronize()
