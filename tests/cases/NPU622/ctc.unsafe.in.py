import torch
from warpctc_pytorch import CTCLoss

criterion = CTCLoss(size_average=True)


def loss(acts, labels, lengths, sizes):
    return criterion(acts, labels, lengths, sizes).item()
