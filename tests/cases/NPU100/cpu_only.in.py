import torch

device = torch.device("cpu")
model = torch.nn.Linear(4, 4).to(device)
torch.manual_seed(0)
