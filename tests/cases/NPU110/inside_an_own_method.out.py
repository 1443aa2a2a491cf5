import torch
import torch_npu  # noqa: F401


class Batch:
    def __init__(self, x, others):
        self.x = x
        self.others = others

    def cuda(self, device=None):
        self.x = self.x.npu(device)
        for key in self.others:
            self.others[key] = self.others[key].npu()
        return self


class Sorted(Batch):
    def cuda(self, device=None):
        self.order = self.order.npu()
        return super().cuda(device)


def train(model, loader, target):
    model.npu()
    for x in loader:
        target = target.npu()
        batch = Sorted(x, {})
        model(batch.cuda(), target)
        torch.zeros(1).npu()
