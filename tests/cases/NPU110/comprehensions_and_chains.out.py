import torch
import torch_npu  # noqa: F401


def move(batch):
    batch = {key: value.npu() for key, value in batch.items()}
    pair = [t.npu(non_blocking=True).float() for t in batch.values()]
    return torch.stack(pair).npu().half()
