import collections
import time
from collections.abc import Iterable
from collections import OrderedDict
from collections import defaultdict
from math import gcd
import fractions

import numpy as np
import numpy
import torch
import torch_npu  # noqa: F401

try:
    from collections import Mapping
except ImportError:
    from collections.abc import Mapping


def f(x, np2):
    start = time.perf_counter()
    if isinstance(x, collections.abc.Sequence) or isinstance(x, collections.OrderedDict):
        x = np.asarray(x, dtype=float)
    y = numpy.zeros(3, int).astype(np.float32)
    z = np.array(x, dtype=np.float64, copy=False) > np.inf
    n = fractions.gcd(4, 6)
    return time.perf_counter() - start, y, z, n, gcd, Iterable, np2.float, torch.zeros(1).npu()


def own(float):
    return np.zeros(1, np.float), np.zeros(1, bool)


if hasattr(collections, "Callable"):
    kind = collections.Callable
