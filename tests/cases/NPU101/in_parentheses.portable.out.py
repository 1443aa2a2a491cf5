import torch
import torch as th

import compute_device

DEVICE = torch.device((compute_device.type) if compute_device.api.is_available() else "cpu")
print((compute_device.api.device_count)(), (compute_device.api).current_device())
try:
    (compute_device.api.synchronize)()
    print("ok")
except (torch.cuda).OutOfMemoryError:
    compute_device.api.empty_cache()
graph = (compute_device.api.NPUGraph if compute_device.type == "npu" else (( torch ).cuda).CUDAGraph)()
(
    compute_device.api.reset_peak_memory_stats()
)
