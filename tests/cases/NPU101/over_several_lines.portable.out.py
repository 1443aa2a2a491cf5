import torch

import compute_device

used = (
    compute_device.api
    .memory_allocated()
)
free, total = compute_device.api.mem_get_info(
    0,
)
