from torch import nn, zeros
import torch_npu  # noqa: F401

layer = nn.Linear(2, 2)
x = zeros(2, device="npu")
