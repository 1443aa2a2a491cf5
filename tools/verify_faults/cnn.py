"""A small convolutional network with batch norm and dropout, trained with SGD; see gpt.py for the options."""

import argparse

import torch
from torch import nn
from torch.nn import functional

options = argparse.Namespace()


def faulty(name):
    return options.fault == name


class Part(nn.Module):
    def __init__(self, taken, given):
        super().__init__()
        self.conv = nn.Conv2d(taken, given, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(given)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        if options.way == "another algorithm":
            columns = functional.unfold(x, 3, padding=1)
            x = (self.conv.weight.flatten(1) @ columns).unflatten(-1, x.shape[-2:])
        else:
            x = self.conv(x)
        return self.relu(self.norm(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Part(3, 12)
        self.second = Part(12, 16)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = functional.max_pool2d(self.first(x), 2)
        x = functional.avg_pool2d(self.second(x), 2, ceil_mode=faulty("pooling rounds up"))
        if faulty("detached"):
            x = x.detach()
        x = self.dropout(x.mean((2, 3)))
        return self.head(x)


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--fault", default="")
    parser.add_argument("--way", default="")
    parser.add_argument("--steps", type=int, default=3)
    parser.parse_args(arguments, namespace=options)
    if options.device == "npu":
        import torch_npu  # noqa: F401

    torch.manual_seed(11)
    model = Net().to(options.device)
    if faulty("eval for train"):
        model.second.norm.eval()
    if faulty("frozen layer"):
        model.first.conv.weight.requires_grad_(False)
    if faulty("channels swapped"):
        model.first.register_forward_pre_hook(lambda module, given: (given[0].flip(1),))
    momentum = 0.0 if faulty("momentum lost") else 0.9
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05 if faulty("LR off by two") else 0.1, momentum=momentum)
    images, labels = torch.randn(48, 3, 14, 14), torch.randint(0, 10, (48,))
    pairs = torch.utils.data.TensorDataset(images, labels)
    loader = torch.utils.data.DataLoader(pairs, batch_size=16, shuffle=not faulty("data order off"))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.0 if faulty("smoothing lost") else 0.1)
    for step, (x, y) in zip(range(options.steps), loader, strict=False):
        x, y = x.to(options.device), y.to(options.device)
        with torch.autocast(options.device, torch.bfloat16, enabled=options.way == "autocast to bfloat16"):
            out = model(x)
        loss = criterion(out.float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
