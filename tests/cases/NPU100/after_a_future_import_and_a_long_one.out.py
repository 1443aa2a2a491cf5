from __future__ import annotations

from torch.utils.data import (
    DataLoader,
    Dataset,
)
import torch_npu  # noqa: F401


def step(batch):
    return batch.npu()
