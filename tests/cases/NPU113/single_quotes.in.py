import torch

x = torch.ones(3).type('torch.cuda.LongTensor')
