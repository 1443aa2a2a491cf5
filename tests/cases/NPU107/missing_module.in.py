import torch.cuda.comm
