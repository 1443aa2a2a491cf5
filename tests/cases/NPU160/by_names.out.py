from torch_npu.profiler import ProfilerActivity, profile, schedule

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], schedule=schedule(wait=0, warmup=1, active=1)) as p:
    p.step()
