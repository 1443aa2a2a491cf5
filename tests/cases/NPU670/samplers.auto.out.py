import torch
import torch.utils.data
from torch.utils.data import Sampler
from torch.utils.data.sampler import BatchSampler


class Infinite(torch.utils.data.Sampler):
    def __init__(self, dataset, rank=0):
        super().__init__()
        self.dataset = dataset


class ByName(Sampler[int]):
    def __init__(self, data_source):
        Sampler.__init__(self)
        self.data_source = data_source


class Old(Sampler):
    def __init__(self, data_source):
        super(Old, self).__init__()

    class Inner(dict):
        def __init__(self, x):
            super().__init__(x)


class Made(Sampler):
    def __init__(self, n):
        super().__init__(prepare(n))


class Right(Sampler):
    def __init__(self, n):
        super().__init__()
        self.table = dict.__init__({}, n)


class Batches(BatchSampler):
    def __init__(self, sampler):
        super().__init__(sampler, 4, False)


class Mixed(dict, Sampler):
    def __init__(self, x):
        super().__init__(x)
