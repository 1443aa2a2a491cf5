import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

done = torch.cuda.Event()
print(done.npu_event)
