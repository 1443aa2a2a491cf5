import collections
import time
from collections import Iterable, OrderedDict
from collections import defaultdict
from fractions import gcd
import fractions

import numpy as np
import numpy
import torch

try:
    from collections import Mapping
except ImportError:
    from collections.abc import Mapping


def f(x, np2):
    start = time.clock()
    if isinstance(x, collections.Sequence) or isinstance(x, collections.OrderedDict):
        x = np.asarray(x, dtype=np.float)
    y = numpy.zeros(3, np.int).astype(np.float32)
    z = np.array(x, dtype=np.float64, copy=False) > np.Inf
    n = fractions.gcd(4, 6)
    return time.clock() - start, y, z, n, gcd, Iterable, np2.float, torch.zeros(1).cuda()


def own(float):
    return np.zeros(1, np.float), np.zeros(1, np.bool)


if hasattr(collections, "Callable"):
    kind = collections.Callable
