import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist

_counter_type = torch.float64
_sync_device = None


def collected(counters, names):
    deltas = []
    device = _sync_device if _sync_device is not None else torch.device("cpu")
    for name in names:
        delta = torch.zeros([3], dtype=_counter_type, device=device)
        delta.add_(counters[name].to(device))
        deltas.append(delta)
    deltas = torch.stack(deltas)
    if _sync_device is not None:
        dist.all_reduce(deltas)
    return deltas.cpu()


def on_the_host(counters):
    deltas = [torch.zeros([3], dtype=_counter_type, device="cpu") for _ in counters]
    total = torch.cat(deltas)
    dist.all_reduce(total)
    return total


def whole(counters):
    total = torch.stack([torch.tensor(one, device="cuda", dtype=torch.float32) for one in counters])
    dist.all_reduce(total)
    return total
