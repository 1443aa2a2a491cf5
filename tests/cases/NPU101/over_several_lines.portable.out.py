import torch

import compute_device

used = (
    torch
    .cuda
    .memory_allocated()
)
free, total = compute_device.api.mem_get_info(
    0,
)
