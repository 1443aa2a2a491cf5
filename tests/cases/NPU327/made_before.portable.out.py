import torch
import torch.distributed as dist

import compute_device

device = torch.device(compute_device.type)


class Meter:
    def synchronize(self):
        t = torch.tensor([self.count, self.total], dtype=torch.float32, device=compute_device.type)
        dist.barrier()
        dist.all_reduce(t)
        t = t.tolist()


moved = torch.tensor([1.0, 2.0], dtype=torch.float32).to(compute_device.type)
dist.reduce(moved.clone(), dst=0)
converted = torch.ones(3).to(torch.float32).to(device)
dist.all_reduce(converted, op=dist.ReduceOp.MAX)
both = torch.ones(3).to(device, torch.float32)
dist.reduce_scatter_tensor(torch.empty(1), both)
