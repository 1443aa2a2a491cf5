import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch import cuda, nn

layer = nn.Linear(1, 1)
cuda.empty_cache()
