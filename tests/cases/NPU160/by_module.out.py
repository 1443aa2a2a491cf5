import torch
import torch_npu

activities = [torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU]
with torch_npu.profiler.profile(
    activities=activities,
    schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=2),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("log"),
) as prof:
    prof.step()
