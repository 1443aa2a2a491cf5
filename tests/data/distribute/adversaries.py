"""Two models in a class that holds them, a sampler of its own, a loader made by a function, a log file."""
import json
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.score = nn.Linear(8, 1)
        self.spare = nn.Linear(8, 1)

    def forward(self, x, spare=False):
        hidden = torch.tanh(self.body(x))
        if spare:
            return self.spare(hidden)
        return self.score(hidden)

    def gap(self, real, fake):
        return self.forward(fake).mean() - self.forward(real).mean() + (self.body.weight**2).sum() * 0.1


def build_generator():
    return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))


def make_loader(batch_size):
    draw = torch.Generator().manual_seed(3)
    data = TensorDataset(torch.randn(32, 4, generator=draw), torch.arange(32))
    sampler = WeightedRandomSampler(torch.ones(32), 32, replacement=False)
    return DataLoader(data, batch_size=batch_size, sampler=sampler)


class Trainer:
    def __init__(self, device):
        self.device = device
        self.critic = Critic().to(device)
        self.generator = build_generator().to(device)
        self.critic_optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.05)
        self.generator_optimizer = torch.optim.SGD(self.generator.parameters(), lr=0.05)
        self.loader = make_loader(8)

    def fit(self, epochs):
        os.makedirs("adversaries")
        noise = torch.Generator().manual_seed(5)
        for epoch in range(epochs):
            for real, index in self.loader:
                real = real.to(self.device)
                fake = self.generator(real[:, :2])
                self.critic_optimizer.zero_grad()
                gap = self.critic.gap(real, fake.detach())
                gap.backward()
                self.critic_optimizer.step()
                self.generator_optimizer.zero_grad()
                loss = -self.critic(fake).mean()
                loss.backward()
                self.generator_optimizer.step()
            with open("adversaries/log.jsonl", "a") as log:
                log.write(json.dumps({"epoch": epoch, "gap": gap.item(), "loss": loss.item()}) + "\n")
        torch.save(self.generator, "adversaries/generator.pt")


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer("cuda" if torch.cuda.is_available() else "cpu")
    trainer.fit(2)
    print("done")
