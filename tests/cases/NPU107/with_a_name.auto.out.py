import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.cuda as tc
import torch.cuda.amp as amp

tc.synchronize()
scaler = amp.GradScaler()
