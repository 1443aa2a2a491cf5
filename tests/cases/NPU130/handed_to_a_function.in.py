import torch

arch = ".".join(map(str, torch.cuda.get_device_capability()))
newest = max([torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())])
print("capability", torch.cuda.get_device_capability(0))
