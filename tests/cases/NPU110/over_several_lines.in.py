import torch

x = (
    torch.zeros(2)
    .cuda()  # to the card
    .half()
)
