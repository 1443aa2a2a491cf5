import torch
import torch_npu  # noqa: F401

used = (
    torch
    .npu
    .memory_allocated()
)
free, total = torch.npu.mem_get_info(
    0,
)
