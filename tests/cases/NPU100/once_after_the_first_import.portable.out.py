"""Train."""

import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

import compute_device

model = nn.Linear(2, 2).to(compute_device.type)
compute_device.api.synchronize()
