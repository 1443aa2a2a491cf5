import torch
import torch_npu  # noqa: F401
import torch.distributed as dist

device = torch.device("npu")


class Meter:
    def synchronize(self):
        t = torch.tensor([self.count, self.total], dtype=torch.float32, device="npu")
        dist.barrier()
        dist.all_reduce(t)
        t = t.tolist()


moved = torch.tensor([1.0, 2.0], dtype=torch.float32).npu()
dist.reduce(moved.clone(), dst=0)
converted = torch.ones(3).to(torch.float32).to(device)
dist.all_reduce(converted, op=dist.ReduceOp.MAX)
both = torch.ones(3).to(device, torch.float32)
dist.reduce_scatter_tensor(torch.empty(1), both)
