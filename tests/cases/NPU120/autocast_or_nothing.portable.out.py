from contextlib import nullcontext

import torch
from torch import autocast

import compute_device


def sample(model, x, half):
    scope = autocast if half else nullcontext
    with scope(compute_device.type):
        return model(x)
