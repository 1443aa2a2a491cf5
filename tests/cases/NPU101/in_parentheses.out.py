import torch
import torch_npu  # noqa: F401
import torch as th

DEVICE = torch.device(("npu") if (torch).npu.is_available() else "cpu")
print(((th).npu.device_count)(), (( th ).npu).current_device())
try:
    (( th ).npu.synchronize)()
    print("ok")
except torch.OutOfMemoryError:
    (torch).npu.empty_cache()
graph = (( torch ).npu).NPUGraph()
(
    torch
    .npu.reset_peak_memory_stats()
)
