import collections

import torch
import torch
from collections import abc as container_abcs
string_classes = (str, bytes)
ints = int
from torch import inf  # a bound
from torch.nn.modules.linear import Linear
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear as _LinearWithBias


def norms(values, A, x):
    if isinstance(values, (str, bytes)):
        return torch.inf
    rank = torch.linalg.matrix_rank(A)
    close = torch.matrix_rank(A, 1e-5)
    e, v = torch.linalg.eigh(A, UPLO="L")
    only, _ = torch.symeig(A)
    torch.use_deterministic_algorithms(True)
    freq = torch.rfft(x, 2, onesided=False)
    kept = torch.fft.rfft(x)
    return rank, close, e, v, only, freq, kept, collections, container_abcs, string_classes, ints, inf
