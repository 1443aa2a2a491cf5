import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

if __name__ == "__main__":
    model = torch.nn.Linear(2, 2).cuda()
    if next(model.parameters()).device.type in ("cuda", "npu"):
        torch.cuda.synchronize()
