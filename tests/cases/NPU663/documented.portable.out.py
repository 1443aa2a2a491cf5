import torch
model = torch.load("model.pt", map_location="cpu", weights_only=False)
model.eval()
