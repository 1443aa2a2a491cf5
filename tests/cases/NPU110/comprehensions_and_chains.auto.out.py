import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def move(batch):
    batch = {key: value.cuda() for key, value in batch.items()}
    pair = [t.cuda(non_blocking=True).float() for t in batch.values()]
    return torch.stack(pair).cuda().half()
