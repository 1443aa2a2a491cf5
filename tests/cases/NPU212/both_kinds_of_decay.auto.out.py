import torch
from torch.optim import Adam, AdamW


def optimizers(parameters):
    yield Adam(parameters, weight_decay=0.1)
    yield AdamW([{"params": parameters}], lr=1e-3, weight_decay=0.0)
