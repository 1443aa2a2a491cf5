import torch
import torch_npu  # noqa: F401

with torch.random.fork_rng(device_type="npu"):
    torch.manual_seed(1)
with torch.random.fork_rng(devices=[], enabled=True, device_type="npu"):
    torch.manual_seed(2)
