import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch as th

DEVICE = torch.device(("cuda") if (torch).cuda.is_available() else "cpu")
print(((th).cuda.device_count)(), (( th ).cuda).current_device())
try:
    (( th ).cuda.synchronize)()
    print("ok")
except (torch.cuda).OutOfMemoryError:
    (torch).cuda.empty_cache()
graph = (( torch ).cuda).CUDAGraph()
(
    torch
    .cuda.reset_peak_memory_stats()
)
