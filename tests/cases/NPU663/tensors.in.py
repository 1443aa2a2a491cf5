import torch
from torch import nn

other = nn.Linear(1, 1)
weights = torch.load("w.pt")
other.load_state_dict(weights)
checkpoint = torch.load("c.pt")
other.load_state_dict(checkpoint["model"])
print(checkpoint["args"]["lr"])
x = torch.load("x.pt")
print(x.shape, x.to(torch.float32))
table = torch.load("t.pt")
for key in table.keys():
    table.train = key
told = torch.load("m.pt", weights_only=True)
told.eval()
given = torch.load("m.pt", **{})
given.eval()


def load(name):
    model = torch.load(name)
    return model


def other_scope(model):
    return model.eval()
