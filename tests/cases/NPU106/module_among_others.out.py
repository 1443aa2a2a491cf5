from torch import nn
from torch_npu import npu as cuda

layer = nn.Linear(1, 1)
cuda.empty_cache()
