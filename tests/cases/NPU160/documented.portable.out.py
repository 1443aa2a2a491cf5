import torch
from torch.profiler import record_function

import compute_device

if compute_device.type == "npu":
    from torch_npu.profiler import ProfilerActivity, profile
else:
    from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU, getattr(ProfilerActivity, compute_device.type.upper())]) as prof:
    with record_function("step"):
        torch.ones(2).sum()
