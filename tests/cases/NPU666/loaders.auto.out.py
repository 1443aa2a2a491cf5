import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.utils.data import DataLoader


class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.batch = None

    def next(self):
        self.batch = next(self.loader)
        return self.batch


class Queue:
    def __init__(self, items):
        self.items = items

    def next(self):
        return self.items.pop()


def train(data, bar, path):
    loader = DataLoader(data, 4)
    batches = iter(loader)
    try:
        x, y = next(batches)
    except StopIteration:
        batches = iter(loader)
        x, y = next(batches)
    first = next((iter(loader)))
    second = next(loader.__iter__())[0]
    device = next(iter(loader))[0].cuda()
    bar.next()
    queue = Queue(data)
    prefetcher = Prefetcher(loader)
    return x, y, first, second, device, queue.next(), prefetcher.next(), path.next(1), next(batches)


def validate(val_iter, cursor):
    return val_iter.next(), cursor.next()
