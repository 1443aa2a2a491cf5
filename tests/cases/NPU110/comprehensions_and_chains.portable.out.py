import torch

import compute_device


def move(batch):
    batch = {key: value.to(compute_device.type) for key, value in batch.items()}
    pair = [t.to(compute_device.type, non_blocking=True).float() for t in batch.values()]
    return torch.stack(pair).to(compute_device.type).half()
