import numpy as np
import torch
from torch import fft

try:
    from torch._six import string_classes
except ImportError:
    string_classes = str

if hasattr(torch, "rfft"):
    spectrum = torch.rfft
else:
    spectrum = fft.rfft

TORCH = tuple(int(x) for x in torch.__version__.split(".")[:2])
if TORCH < (1, 8):
    from torch._six import container_abcs
else:
    import collections.abc as container_abcs


class Solver:
    def solve(self, b):
        return np.linalg.solve(b, b), np.linalg.matrix_rank(b), torch.linalg.solve(b, b), torch.linalg.matrix_rank(b)

    def eig(self):
        return self.solve(1)


Solver().eig()
Solver().solve(torch.ones(2))
np.fft.rfft(np.ones(4))
