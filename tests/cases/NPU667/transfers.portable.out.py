import torch
from torch.autograd import Variable

import compute_device


def train(model, loader, device):
    for x, y in loader:
        x = Variable(x, requires_grad=False).to(compute_device.type, non_blocking=True)
        y = y.to(compute_device.get(device), non_blocking=True)
        loss = model(x.to(device, torch.float, non_blocking=True), y)
        model.weights.copy_(loss, non_blocking=False)
        print("async=True", loss.item())
    return {"async": "x.cuda(async=True)"}
