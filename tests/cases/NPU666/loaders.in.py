import torch
from torch.utils.data import DataLoader


class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.batch = None

    def next(self):
        self.batch = self.loader.next()
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
        x, y = batches.next()
    except StopIteration:
        batches = iter(loader)
        x, y = batches.next()
    first = (iter(loader)).next()
    second = loader.__iter__().next()[0]
    device = iter(loader).next()[0].cuda()
    bar.next()
    queue = Queue(data)
    prefetcher = Prefetcher(loader)
    return x, y, first, second, device, queue.next(), prefetcher.next(), path.next(1), next(batches)


def validate(val_iter, cursor):
    return val_iter.next(), cursor.next()
