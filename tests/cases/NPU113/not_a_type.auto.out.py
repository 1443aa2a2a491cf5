import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
NAMES = ["torch.cuda.amp", "torch.cuda.current_stream", "torch.cuda.FloatTensor.extra"]
print(NAMES)
