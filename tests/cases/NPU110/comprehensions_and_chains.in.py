import torch


def move(batch):
    batch = {key: value.cuda() for key, value in batch.items()}
    pair = [t.cuda(non_blocking=True).float() for t in batch.values()]
    return torch.stack(pair).cuda().half()
