import torch

used = (
    torch
    .cuda
    .memory_allocated()
)
free, total = torch.cuda.mem_get_info(
    0,
)
