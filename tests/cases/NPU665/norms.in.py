import numpy
import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, clip):
    norms = []
    for x in loader:
        model(x).mean().backward()
        norm = clip_grad_norm_(model.parameters(), clip)
        if np.isnan(norm) or numpy.isinf(norm):
            continue
        if not np.isfinite(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
            raise ValueError
        norms.append(norm)
