"""Several models in a list, each with its optimizer, on samples that were chosen by chance without a seed."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset


def main():
    models = [nn.Linear(3, 1).cuda() for _ in range(2)]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
    inputs = torch.randn(40, 3)
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    chosen = random.sample(range(40), 32)
    loader = DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(chosen))
    for round_number in range(2):
        right = seen = 0
        for step, (x, y) in enumerate(loader):
            x, y = x.cuda(), y.cuda()
            for model, optimizer in zip(models, optimizers):
                optimizer.zero_grad()
                output = model(x)
                loss = (output - y).pow(2).mean()
                loss.backward()
                optimizer.step()
            right += ((output > 0) == (y > 0)).sum().item()
            seen += len(y)
            print(f"round {round_number} [{step * len(x)}/32] right {right} of {seen}")
    for number, model in enumerate(models):
        torch.save(model.state_dict(), f"member{number}.pt")


if __name__ == "__main__":
    main()
