import importlib
import sys

import torch

import compute_device

cuda = importlib.import_module(f"torch.{compute_device.type}")
amp = importlib.import_module(f"torch.{compute_device.type}.amp")
loaded = sys.modules[f"torch.{compute_device.type}"]
print("torch.cuda", {"torch.cuda": 1}, torch.__version__)
