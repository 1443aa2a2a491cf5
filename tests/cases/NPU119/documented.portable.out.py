import torch

import compute_device

if __name__ == "__main__":
    model = torch.nn.Linear(2, 2).to(compute_device.type)
    if next(model.parameters()).device.type == compute_device.type:
        compute_device.api.synchronize()
