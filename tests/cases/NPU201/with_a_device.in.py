import torch

print(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
torch.set_autocast_enabled("cpu", True)
