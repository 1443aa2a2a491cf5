import torch

import compute_device

x = torch.ones(3).type(f'torch.{compute_device.type}.LongTensor')
