import torch

torch.cuda.cudart().cudaProfilerStart()
streams = torch.cuda.comm
