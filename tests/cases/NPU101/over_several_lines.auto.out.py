import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

used = (
    torch
    .cuda
    .memory_allocated()
)
free, total = torch.cuda.mem_get_info(
    0,
)
