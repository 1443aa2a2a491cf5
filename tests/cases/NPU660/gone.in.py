import collections

import torch
import torch._six
from torch._six import container_abcs, string_classes, int_classes as ints
from torch._six import inf  # a bound
from torch.nn.modules.linear import Linear, _LinearWithBias


def norms(values, A, x):
    if isinstance(values, torch._six.string_classes):
        return torch._six.inf
    rank = torch.matrix_rank(A)
    close = torch.matrix_rank(A, 1e-5)
    e, v = torch.symeig(A, eigenvectors=True, upper=False)
    only, _ = torch.symeig(A)
    torch.set_deterministic(True)
    freq = torch.rfft(x, 2, onesided=False)
    kept = torch.fft.rfft(x)
    return rank, close, e, v, only, freq, kept, collections, container_abcs, string_classes, ints, inf
