import math

import torch
import torch.nn.functional as F

import compute_device


def losses(x, other):
    mask = x > 0
    a = torch.where(mask, x, torch.tensor(0.0, device=mask.device))
    b = torch.where(x > 0, x, torch.tensor(float("-inf"), device=x.device))
    c = torch.where(~mask, torch.tensor(1.0, device=mask.device), torch.tensor(-math.inf, dtype=torch.float32, device=mask.device))
    d = x.clamp(min=torch.tensor(0.0, device=x.device), max=torch.tensor(1.0, device=x.device))
    e = torch.clamp(x, torch.tensor(-1e9, device=x.device))
    g = x.pow(torch.tensor(2, device=x.device)) + x.lerp(other, torch.tensor(0.5, device=x.device))
    h = x.where(mask, torch.tensor(0.0, device=mask.device))
    zero = torch.tensor(0.0)
    i = torch.where(mask, zero.to(mask.device), x)
    y = torch.ones(3).to(compute_device.type)
    y[y > 0] = torch.tensor(2.0, device=y.device)
    z = y ** torch.tensor(2.0, device=y.device)
    return a, b, c, d, e, g, h, i, y, z, F.mse_loss(x, torch.tensor(0.5, device=x.device))
