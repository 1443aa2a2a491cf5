from __future__ import annotations

from torch.utils.data import (
    DataLoader,
    Dataset,
)

import compute_device


def step(batch):
    return batch.to(compute_device.type)
