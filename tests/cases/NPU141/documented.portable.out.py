import torch
from torch.utils.data import RandomSampler

import compute_device

torch.set_default_dtype(torch.float32)
torch.set_default_device(compute_device.type)
order = RandomSampler(data, generator=torch.Generator(torch.empty(0).device).manual_seed(torch.initial_seed()))
