from contextlib import nullcontext

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch import autocast


def sample(model, x, half):
    scope = autocast if half else nullcontext
    with scope("cuda"):
        return model(x)
