import torch

options = {"device": "cpu"}
scaler = torch.amp.GradScaler(**options)
other = torch.amp.GradScaler(*["cpu"])
