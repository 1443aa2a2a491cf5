"""Train."""

import os

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.nn as nn
from torch.utils.data import DataLoader

model = nn.Linear(2, 2).cuda()
torch.cuda.synchronize()
