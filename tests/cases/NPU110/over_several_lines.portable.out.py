import torch

import compute_device

x = (
    torch.zeros(2)
    .to(compute_device.type)  # to the card
    .half()
)
