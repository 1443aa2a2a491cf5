import math

import torch
import torch.nn.functional as F

import compute_device


def losses(x, other):
    mask = x > 0
    a = torch.where(mask, x, torch.tensor(0.0))
    b = torch.where(x > 0, x, torch.tensor(float("-inf")))
    c = torch.where(~mask, torch.tensor(1.0), torch.tensor(-math.inf, dtype=torch.float32))
    d = x.clamp(min=torch.tensor(0.0), max=torch.tensor(1.0))
    e = torch.clamp(x, torch.tensor(-1e9))
    g = x.pow(torch.tensor(2)) + x.lerp(other, torch.tensor(0.5))
    h = x.where(mask, torch.tensor(0.0))
    zero = torch.tensor(0.0)
    i = torch.where(mask, zero, x)
    y = torch.ones(3).to(compute_device.type)
    y[y > 0] = torch.tensor(2.0)
    z = y ** torch.tensor(2.0)
    return a, b, c, d, e, g, h, i, y, z, F.mse_loss(x, torch.tensor(0.5))
