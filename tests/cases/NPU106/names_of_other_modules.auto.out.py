import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.nn.parallel import DistributedDataParallel
from torch.cuda_tools import amp
from mytorch.cuda import Stream
