"""Notes: on a GPU, call torch.cuda.synchronize() and use the device "cuda"."""

import torch

# x = x.cuda()
HELP = "pass --device cuda to train on a GPU"
print(torch.__version__, HELP)
