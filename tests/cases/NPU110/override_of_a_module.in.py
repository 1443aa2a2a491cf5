from functools import wraps

import torch


class Guarded(torch.nn.Module):
    @wraps(torch.nn.Module.cuda)
    def cuda(self, device=None):
        return super().cuda(device=device)
