import torch

import compute_device


class Batch:
    def __init__(self, x, others):
        self.x = x
        self.others = others

    def cuda(self, device=None):
        self.x = self.x.to(compute_device.get(device))
        for key in self.others:
            self.others[key] = self.others[key].to(compute_device.type)
        return self


class Sorted(Batch):
    def cuda(self, device=None):
        self.order = self.order.to(compute_device.type)
        return super().cuda(device)


def train(model, loader, target):
    model.to(compute_device.type)
    for x in loader:
        target = target.to(compute_device.type)
        batch = Sorted(x, {})
        model(batch.cuda(), target)
        torch.zeros(1).to(compute_device.type)
