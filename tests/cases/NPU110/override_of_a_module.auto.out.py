from functools import wraps

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


class Guarded(torch.nn.Module):
    @wraps(torch.nn.Module.cuda)
    def cuda(self, device=None):
        return super().cuda(device=device)
