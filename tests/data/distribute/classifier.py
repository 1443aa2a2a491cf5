"""A classifier for one GPU: positional shuffle, gradient accumulation, an uneven validation set, a checkpoint."""
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0"

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, ACCUMULATE = 2, 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.last = nn.Linear(16, 3)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def make_data(count, seed):
    draw = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, 6, generator=draw)
    return TensorDataset(inputs, inputs[:, :3].argmax(1))


def train_epoch(model, loader, optimizer, device, epoch):
    model.train()
    total_loss = 0.0
    right = seen = 0
    for step, (inputs, labels) in enumerate(loader):
        inputs, labels = inputs.to(device), labels.to(device)
        output = model(inputs)
        loss = F.cross_entropy(output, labels) / ACCUMULATE
        loss.backward()
        if (step + 1) % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
        total_loss += loss.item()
        right += (output.argmax(1) == labels).sum().item()
        seen += labels.size(0)
    print(f"epoch {epoch}: loss {total_loss / len(loader):.6f}, accuracy {right / seen:.4f}")
    return total_loss / len(loader)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    loss, right = 0.0, 0
    answers = []
    for inputs, labels in loader:
        inputs, labels = inputs.to(device), labels.to(device)
        output = model(inputs)
        loss += F.cross_entropy(output, labels).item()
        right += (output.argmax(1) == labels).sum().item()
        answers.append(output.argmax(1).cpu())
    return loss / len(loader), right / len(loader.dataset), torch.cat(answers).tolist()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda:0")
    training, validation = make_data(64, 1), make_data(23, 2)
    loader = DataLoader(training, 8, True)
    val_loader = DataLoader(validation, batch_size=4)
    model = Net()
    model.to(device)
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    best = None
    for epoch in range(EPOCHS):
        train_epoch(model, loader, optimizer, device, epoch)
        loss, accuracy, answers = evaluate(model, val_loader, device)
        print("validation", round(loss, 6), accuracy, answers)
        if best is None or loss < best:
            best = loss
            torch.save({"model": model.state_dict(), "epoch": epoch}, "classifier.pt")
    state = torch.load("classifier.pt")
    model.load_state_dict(state["model"])
    print("best", evaluate(model, val_loader, device)[0])


if __name__ == "__main__":
    main()
