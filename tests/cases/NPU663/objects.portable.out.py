import argparse
import torch
from torch import nn

args = argparse.ArgumentParser().parse_args()
print(args.lr)
model = torch.load("m.pt", weights_only=False)
model.eval()
net = torch.load(
    open("m.pt", "rb"),
    map_location="cpu",  # from any device
    weights_only=False,
)
out = net(torch.ones(1))
torch.load("m.pt", weights_only=False).eval()

other = nn.Linear(1, 1)
torch.save({"model": other.state_dict(), "args": args}, "c.pt")
checkpoint = torch.load("c.pt", weights_only=False)
other.load_state_dict(checkpoint["model"])
before = torch.load("d.pt", weights_only=False)
print(before["args"].lr, before["state"])


class Server:
    def __init__(self):
        self.net = torch.load("n.pt", "cpu", weights_only=False)

    def run(self, x):
        return self.net(x)
