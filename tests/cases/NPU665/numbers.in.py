import math

import numpy as np
import torch


def train(model, loader, losses):
    for x in loader:
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if math.isnan(norm) or torch.isnan(norm):
            break
        norm = norm.item()
        if np.isnan(norm) or np.isnan(losses[-1]):
            break
    value = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if loader:
        value = 0.0
    return np.isnan(value), np.mean(losses)
