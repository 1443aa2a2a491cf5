import importlib
import sys

import torch

cuda = importlib.import_module("torch.cuda")
amp = importlib.import_module("torch.cuda.amp")
loaded = sys.modules["torch.cuda"]
print("torch.cuda", {"torch.cuda": 1}, torch.__version__)
