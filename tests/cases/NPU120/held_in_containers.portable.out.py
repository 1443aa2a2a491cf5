# What tensors say of their devices, kept in a container or taken apart, and sought there.
import torch

import compute_device

x = torch.ones(2).to(compute_device.type)
kinds = [t.device.type for t in (x, x.cpu())]
print(kinds[0] == compute_device.type, [one for one in kinds if one != compute_device.type])
texts = [str(t.device) for t in (x, x.cpu())]
print([one for one in texts if compute_device.type in one], any(one.startswith(compute_device.type) for one in texts))
kind, _, number = str(x.device).partition(":")
print(kind == compute_device.type)
