from __future__ import annotations

from torch.utils.data import (
    DataLoader,
    Dataset,
)


def step(batch):
    return batch.cuda()
