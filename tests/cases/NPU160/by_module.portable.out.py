import torch

import compute_device

activities = [compute_device.library.profiler.ProfilerActivity.CPU, getattr(compute_device.library.profiler.ProfilerActivity, compute_device.type.upper())]
with compute_device.library.profiler.profile(
    activities=activities,
    schedule=compute_device.library.profiler.schedule(wait=1, warmup=1, active=2),
    on_trace_ready=compute_device.library.profiler.tensorboard_trace_handler("log"),
) as prof:
    prof.step()
