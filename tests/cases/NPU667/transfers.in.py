import torch
from torch.autograd import Variable


def train(model, loader, device):
    for x, y in loader:
        x = Variable(x, requires_grad=False).cuda(async=True)
        y = y.cuda(device, async = True)
        loss = model(x.to(device, torch.float, async=True), y)
        model.weights.copy_(loss, async=False)
        print("async=True", loss.item())
    return {"async": "x.cuda(async=True)"}
