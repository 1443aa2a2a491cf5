from contextlib import nullcontext

import torch
from torch import autocast


def sample(model, x, half):
    scope = autocast if half else nullcontext
    with scope("cuda"):
        return model(x)
