from __future__ import annotations

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.utils.data import (
    DataLoader,
    Dataset,
)


def step(batch):
    return batch.cuda()
