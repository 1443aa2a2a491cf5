import torch

net = torch.load(
    "m.pt",
    map_location="cpu",  # no comma
    weights_only=False
)
net.eval()
