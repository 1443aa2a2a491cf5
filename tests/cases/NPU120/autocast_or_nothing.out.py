from contextlib import nullcontext

import torch
import torch_npu  # noqa: F401
from torch import autocast


def sample(model, x, half):
    scope = autocast if half else nullcontext
    with scope("npu"):
        return model(x)
