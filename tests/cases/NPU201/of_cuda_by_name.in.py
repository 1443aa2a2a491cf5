import torch

if torch.is_autocast_enabled():
    print(torch.is_autocast_enabled("cuda"))
