import torch
import torch.nn.functional as F


def train(model, loader, criterion, optimizer):
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        print("loss %.3f" % loss.item(), y.data[0])
    return total


def test(model, x, y):
    loss = model(x)
    total = F.nll_loss(model(x), y).item()
    total += F.nll_loss(model(x), y, reduction="none").data[0]
    return total, loss.data[0], torch.max(x, 1)[1].data[0]


def parts(model, x):
    loss = model(x)
    loss.backward(torch.ones(2))
    loss.data[0] = 1
    return loss.data[0], loss.data[0:1]
