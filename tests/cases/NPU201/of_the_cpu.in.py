import torch

print(torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype())
