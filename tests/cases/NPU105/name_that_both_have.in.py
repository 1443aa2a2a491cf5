import torch
import torch_npu

amp = getattr(torch.npu, "amp", None)
print(hasattr(torch.npu, "NPUGraph"), torch_npu.__version__, amp)
