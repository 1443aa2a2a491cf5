import torch

major, minor = torch.cuda.get_device_capability()
capability = torch.cuda.get_device_capability(0)
fast = torch.cuda.get_device_capability() >= (8, 0)
dtype = torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16
