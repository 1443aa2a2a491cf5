import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.autograd import Variable


def train(model, loader, device):
    for x, y in loader:
        x = Variable(x, requires_grad=False).cuda(non_blocking=True)
        y = y.cuda(device, non_blocking = True)
        loss = model(x.to(device, torch.float, non_blocking=True), y)
        model.weights.copy_(loss, non_blocking=False)
        print("async=True", loss.item())
    return {"async": "x.cuda(async=True)"}
