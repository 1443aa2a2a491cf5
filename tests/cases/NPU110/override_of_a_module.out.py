from functools import wraps

import torch
import torch_npu  # noqa: F401


class Guarded(torch.nn.Module):
    @wraps(torch.nn.Module.cuda)
    def cuda(self, device=None):
        return super().npu(device=device)
