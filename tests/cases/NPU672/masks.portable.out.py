import numpy as np
import torch

import compute_device


def given(mask, x, np_mask):
    return 1 - mask, 1 - x.size(0), 1 - (len(x) > 2), 1 - np_mask


def numbers(x):
    mask = x.sum() > 0
    mask = mask.float()
    other = torch.ones(4).gt(0).long()
    bits = np.zeros(3) > 1
    return 1 - mask, 1 - other, 1 - (x > 0).float(), 1 - bits.astype(int)


x = torch.ones(4).to(compute_device.type)
mask = x > 0
both = mask & x.lt(3)
rest = ~mask
rest = (1 - both).float() * (~(x > 0))
rest = ~x.ne(0)
rest = (1) - torch.isnan(x)
rest = 1.0 - mask


def of(lengths, n):
    mask = torch.arange(n)[None] < lengths[:, None]
    mask = ~mask  # the rest
    return mask
