import torch
import torch.distributed as dist

device = torch.device("cuda")


class Meter:
    def synchronize(self):
        t = torch.tensor([self.count, self.total], dtype=torch.float64, device="cuda")
        dist.barrier()
        dist.all_reduce(t)
        t = t.tolist()


moved = torch.tensor([1.0, 2.0], dtype=torch.double).cuda()
dist.reduce(moved.clone(), dst=0)
converted = torch.ones(3).to(torch.float64).to(device)
dist.all_reduce(converted, op=dist.ReduceOp.MAX)
both = torch.ones(3).to(device, torch.float64)
dist.reduce_scatter_tensor(torch.empty(1), both)
