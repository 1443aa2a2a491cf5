import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch import nn, zeros

layer = nn.Linear(2, 2)
x = zeros(2, device="cuda")
