import torch
import torch.backends.cudnn
import torch.nn.functional as F

print(F.relu(torch.zeros(2)))
