import torch.cuda

torch.cuda.empty_cache()
