from functools import wraps

import torch

import compute_device


class Guarded(torch.nn.Module):
    @wraps(torch.nn.Module.cuda)
    def cuda(self, device=None):
        return super().to(compute_device.get(device))
