import torch
x = torch.ones(2).to("cpu", non_blocking=True)
