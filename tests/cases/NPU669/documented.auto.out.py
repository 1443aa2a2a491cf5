import collections
import numpy as np
import torch
from math import gcd

def pairs(x):
    return isinstance(x, collections.abc.Iterable), np.zeros(2, dtype=float), gcd(2, 4)
