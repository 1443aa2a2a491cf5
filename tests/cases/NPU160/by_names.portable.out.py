import compute_device
if compute_device.type == "npu":
    from torch_npu.profiler import ProfilerActivity, profile, schedule
else:
    from torch.profiler import ProfilerActivity, profile, schedule

with profile(activities=[ProfilerActivity.CPU, getattr(ProfilerActivity, compute_device.type.upper())], schedule=schedule(wait=0, warmup=1, active=1)) as p:
    p.step()
